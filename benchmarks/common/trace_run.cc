#include "common/trace_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "common/buffer.h"
#include "common/number_format.h"
#include "common/pattern.h"

namespace perf {
namespace {

using Clock = std::chrono::steady_clock;

// A tensor and where it lies in the buffers, with guards around it.
struct Placed {
  std::size_t elements = 0;
  std::size_t offset = 0;
};

std::vector<Placed> place(const std::vector<Tensor>& tensors, std::size_t element_bytes, std::size_t* bytes) {
  std::vector<Placed> placed;
  *bytes = 0;
  for (const Tensor& tensor : tensors) {
    placed.push_back({tensor.elements, *bytes + kGuardBytes});
    // Every tensor begins at a multiple of the guard, with a guard of its own on both sides.
    *bytes += (tensor.elements * element_bytes + 3 * kGuardBytes - 1) / kGuardBytes * kGuardBytes;
  }
  return placed;
}

// "1 tensor", "2 tensors".
template <typename Number>
std::string counted(Number number, const char* what) {
  return fmt::format("{} {}{}", number, what, number == 1 ? "" : "s");
}

class TraceRun {
 public:
  TraceRun(const Collective& collective, const Options& options, const std::vector<Tensor>& tensors, Team& team)
      : collective_(collective),
        options_(options),
        team_(team),
        pattern_(Reduction{options.types[0], options.ops[0], team.nranks()}) {
    team_.select(options.types[0], options.ops[0]);
    placed_ = place(tensors, pattern_.type().bytes, &bytes_);
    for (int i = 0; i < team.size(); ++i) {
      send_.emplace_back(bytes_, 0, options.library_memory != 0);
      recv_.emplace_back(bytes_, 0, options.library_memory != 0);
    }
  }

  std::size_t bytes() const { return bytes_; }

  void prepare() {
    for (int i = 0; i < team_.size(); ++i) {
      const auto place = static_cast<std::size_t>(i);
      for (const Placed& tensor : placed_) {
        std::byte* send = send_[place].data() + tensor.offset;
        std::byte* recv = recv_[place].data() + tensor.offset;
        fill(pattern_.type(), pattern_.input(team_.rank(i)), tensor.offset, tensor.elements, false, send);
        fill(pattern_.type(), pattern_.reduced(), tensor.offset, tensor.elements, true, recv);
        recv_[place].arm(tensor.offset, tensor.elements * pattern_.type().bytes);
      }
    }
  }

  // Starts all tensors, -m in each group, and waits for them.
  void step() {
    const auto group = static_cast<std::size_t>(options_.calls_per_iteration);
    for (std::size_t first = 0; first < placed_.size(); first += group) {
      const auto calls = static_cast<int>(std::min(group, placed_.size() - first));
      team_.start(collective_.facts().function, calls,
                  [&](int i, int call) { return start(i, placed_[first + static_cast<std::size_t>(call)]); });
    }
    team_.synchronize();
  }

  void check(TraceResult* result) {
    std::vector<std::uint64_t> counts(2);
    for (int i = 0; i < team_.size(); ++i) {
      const Buffer& recv = recv_[static_cast<std::size_t>(i)];
      for (const Placed& tensor : placed_) {
        counts[0] += count_wrong(pattern_.type(), pattern_.reduced(), tensor.offset, tensor.elements,
                                 pattern_.reduced_allowed_ulps(), recv.data() + tensor.offset);
        counts[1] += recv.broken(tensor.offset, tensor.elements * pattern_.type().bytes);
      }
    }
    team_.sum(&counts);
    result->wrong = counts[0];
    result->out_of_bounds = counts[1];
  }

 private:
  rondeResult_t start(int i, const Placed& tensor) {
    const auto place = static_cast<std::size_t>(i);
    return collective_.start({.send = send_[place].data() + tensor.offset,
                              .recv = recv_[place].data() + tensor.offset,
                              .count = tensor.elements,
                              .type = pattern_.type().type,
                              .op = team_.reduction(i, options_.ops[0]),
                              .root = kNoRoot,
                              .rank = team_.rank(i),
                              .nranks = team_.nranks(),
                              .round = 0,
                              .in_place = false,
                              .comm = team_.comm(i),
                              .stream = team_.stream(i)});
  }

  const Collective& collective_;
  const Options& options_;
  Team& team_;
  Pattern pattern_;
  std::vector<Placed> placed_;
  std::size_t bytes_ = 0;
  std::vector<Buffer> send_;
  std::vector<Buffer> recv_;
};

}  // namespace

std::size_t trace_buffer_bytes(const Options& options, const std::vector<Tensor>& tensors) {
  std::size_t bytes = 0;
  (void)place(tensors, type_info(options.types[0]).bytes, &bytes);
  return bytes;
}

TraceResult run_trace(const Collective& collective, const Options& options, const std::vector<Tensor>& tensors,
                      Team& team) {
  TraceResult result;
  TraceRun run(collective, options, tensors, team);
  team.enter("filling tensors", run.bytes());
  run.prepare();
  team.enter("first step", run.bytes());
  run.step();
  if (options.checks > 0) run.check(&result);
  for (int step = 0; step < options.warmup_iterations; ++step) run.step();
  for (int step = 0; step < options.iterations; ++step) {
    team.enter("timed step", run.bytes());
    team.barrier();
    const Clock::time_point start = Clock::now();
    run.step();
    result.step_us.push_back(std::chrono::duration<double, std::micro>(Clock::now() - start).count());
  }
  team.reduce(&result.step_us, rondeMax);
  const auto bytes = static_cast<double>(total_elements(tensors) * type_info(options.types[0]).bytes);
  result.algorithm_bandwidth = bytes / 1e3 / percentile(result.step_us, 50);
  result.bus_bandwidth = result.algorithm_bandwidth * collective.bus_factor(team.nranks());
  return result;
}

std::string trace_report(const Options& options, const std::vector<Tensor>& tensors, const TraceResult& result) {
  const TypeInfo& type = type_info(options.types[0]);
  std::string text = fmt::format("#\n# Tensors of one step, from {}\n# {:>10}  {:>12}  name\n", options.sizes_from,
                                 "elements", "bytes");
  for (const Tensor& tensor : tensors) {
    text += fmt::format("# {:>10}  {:>12}  {}\n", tensor.elements, tensor.elements * type.bytes, tensor.name);
  }
  const std::size_t elements = total_elements(tensors);
  const std::size_t bytes = elements * type.bytes;
  text += fmt::format("# {}, {}, {} bytes, {} {}, {}, {} a group\n#\n", counted(tensors.size(), "tensor"),
                      counted(elements, "element"), bytes, type.name, op_name(options.ops[0]),
                      counted(options.iterations, "step"), counted(options.calls_per_iteration, "tensor"));
  text += fmt::format("# {:>10}  {:>12}  {:>12}  {:>12}  {:>6}  {:>6}  {:>6}\n", "bytes", "step min", "step median",
                      "step max", "algbw", "busbw", "#wrong");
  text += fmt::format("# {:>10}  {:>12}  {:>12}  {:>12}  {:>6}  {:>6}\n", "(B)", "(us)", "(us)", "(us)", "(GB/s)",
                      "(GB/s)");
  const Spread spread = spread_of(result.step_us);
  text += fmt::format("{:>12}  {}  {}  {}  {}  {}  {}\n", bytes, to_width(spread.min_us, 12),
                      to_width(spread.p50_us, 12), to_width(spread.max_us, 12), to_width(result.algorithm_bandwidth, 6),
                      to_width(result.bus_bandwidth, 6),
                      options.checks > 0 ? count_to_width(result.wrong, 6) : fmt::format("{:>6}", "N/A"));
  return text;
}

}  // namespace perf
