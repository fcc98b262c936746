#include "common/measure.h"

#include <algorithm>
#include <chrono>

#include "common/gather.h"
#include "common/report.h"

namespace perf {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

}  // namespace

std::size_t buffer_share(const Collective& collective, const Options& options, int nranks) {
  const std::size_t calls = collective.facts().at_once ? static_cast<std::size_t>(options.calls_per_iteration) : 1;
  const std::size_t bytes = std::max<std::size_t>(options.max_bytes, 1);
  const Shape shape = collective.shape(bytes, 1, nranks);
  const std::size_t one = std::max({shape.send_count, shape.recv_count, std::size_t{1}});
  return calls * (one / bytes + (one % bytes == 0 ? 0 : 1));
}

Measure::Measure(const Collective& collective, const Options& options, std::size_t max_bytes, std::optional<Flip> flip,
                 Team& team)
    : collective_(collective), options_(options), team_(team), max_bytes_(max_bytes), checker_(team, buffers_, flip) {
  std::size_t element = 1;
  for (rondeDataType_t type : options.types) element = std::max(element, type_info(type).bytes);
  const std::size_t unalign = static_cast<std::size_t>(options.unalign_elements) * element;
  const std::size_t bytes = max_bytes * buffer_share(collective, options, team.nranks());
  for (int i = 0; i < team.size(); ++i) {
    buffers_.send.emplace_back(bytes, unalign, options.library_memory != 0);
    buffers_.recv.emplace_back(bytes, unalign, options.library_memory != 0);
  }
}

void Measure::select(rondeDataType_t type, rondeRedOp_t op, int root) {
  const bool same_values = pattern_ && type == type_ && op == op_;
  if (same_values && root == root_) return;
  type_ = type;
  op_ = op;
  root_ = root;
  if (!same_values) {
    team_.select(type, op);
    fill_buffers();
  }
  warm_up();
}

void Measure::fill_buffers() {
  pattern_.emplace(Reduction{type_, op_, team_.nranks()});
  team_.enter("filling buffers", max_bytes_);
  for (int i = 0; i < team_.size(); ++i) {
    const Buffer& send = buffers_.send[static_cast<std::size_t>(i)];
    const Buffer& recv = buffers_.recv[static_cast<std::size_t>(i)];
    const std::size_t count = send.bytes() / pattern_->type().bytes;
    fill(pattern_->type(), pattern_->input(team_.rank(i)), 0, count, false, send.data());
    fill(pattern_->type(), pattern_->input(team_.rank(i)), 0, count, false, recv.data());
  }
}

Work Measure::work(const Shape& shape, bool in_place) const {
  return {collective_, shape, type_, op_, root_, in_place};
}

void Measure::warm_up() {
  for (std::size_t bytes = std::max<std::size_t>(options_.min_bytes, 1); bytes <= max_bytes_; bytes *= 2) {
    const Shape shape = collective_.shape(bytes, pattern_->type().bytes, team_.nranks());
    team_.enter("warm-up", shape.bytes);
    for (int iteration = 0; iteration < options_.warmup_iterations; ++iteration) {
      iterate(work(shape, false), iteration);
    }
    team_.synchronize();
  }
}

Row Measure::run(std::size_t bytes) {
  const Shape shape = collective_.shape(bytes, pattern_->type().bytes, team_.nranks());
  Row row;
  row.bytes = shape.bytes;
  row.count = shape.count;
  row.type = type_;
  row.op = op_name(op_);
  row.root = root_;
  row.out_of_place = run_side(shape, false);
  if (collective_.facts().in_place) row.in_place = run_side(shape, true);
  if (options_.report_timestamps) row.timestamp = now_text();
  return row;
}

Side Measure::run_side(const Shape& shape, bool in_place) {
  const Work what = work(shape, in_place);
  team_.enter(in_place ? "untimed run, in place" : "untimed run, out of place", shape.bytes);
  iterate(what, 0);
  team_.synchronize();
  team_.enter(in_place ? "timed run, in place" : "timed run, out of place", shape.bytes);
  Timing timing = time(what);
  average(&timing);
  const double calls = static_cast<double>(options_.calls_per_iteration) *
                       static_cast<double>(options_.per_iteration ? timing.iterations.size() : options_.iterations);
  Side side;
  side.time_us = timing.seconds / calls * 1e6;
  side.cpu_time_us = timing.cpu_seconds / calls * 1e6;
  side.algorithm_bandwidth = static_cast<double>(shape.bytes) / 1e3 / side.time_us;
  side.bus_bandwidth = side.algorithm_bandwidth * collective_.bus_factor(team_.nranks());
  if (options_.per_iteration) side.spread = spread_of(timing.iterations);
  if (options_.checks > 0) {
    team_.enter(in_place ? "checked run, in place" : "checked run, out of place", shape.bytes);
    side.wrong = check(what);
  }
  return side;
}

// One iteration. Each call's data lie in the next part of the buffers, so that caches do not flatter it.
void Measure::iterate(const Work& work, int iteration) {
  const std::size_t region = region_bytes(work);
  const std::size_t places = region == 0 ? 1 : std::max<std::size_t>(buffers_.send[0].bytes() / region, 1);
  const std::size_t first =
      static_cast<std::size_t>(iteration) * static_cast<std::size_t>(options_.calls_per_iteration);
  start_operations(work, team_, buffers_, options_.calls_per_iteration,
                   [&](int call) { return (first + static_cast<std::size_t>(call)) % places * region; });
}

Measure::Timing Measure::time(const Work& work) {
  const bool wait = options_.blocking != Blocking::kOff || options_.per_iteration;
  Timing timing;
  double untimed = 0;
  team_.barrier();
  const Clock::time_point start = Clock::now();
  for (int iteration = 0; iteration < options_.iterations; ++iteration) {
    const Clock::time_point iteration_start = options_.per_iteration ? Clock::now() : start;
    iterate(work, iteration);
    if (wait) team_.synchronize();
    if (options_.per_iteration && iteration >= options_.per_iteration_skip) {
      timing.iterations.push_back(seconds_since(iteration_start) * 1e6 / options_.calls_per_iteration);
    }
    if (options_.blocking == Blocking::kWaitAndBarrier) team_.barrier();
    if (options_.blocking == Blocking::kWaitAndUntimedBarrier) {
      const Clock::time_point barrier = Clock::now();
      team_.barrier();
      untimed += seconds_since(barrier);
    }
  }
  timing.cpu_seconds = seconds_since(start) - untimed;
  team_.synchronize();
  timing.seconds = seconds_since(start) - untimed;
  return timing;
}

// Replaces each time by that of rank 0, or by mean, minimum or maximum over all ranks.
void Measure::average(Timing* timing) {
  std::vector<double> times = timing->iterations;
  times.push_back(timing->seconds);
  times.push_back(timing->cpu_seconds);
  const rondeRedOp_t op = options_.average == Average::kMin   ? rondeMin
                          : options_.average == Average::kMax ? rondeMax
                                                              : rondeSum;
  const double teams = static_cast<double>(team_.nranks()) / team_.size();
  for (double& time : times) {
    if (options_.average == Average::kMean) time /= teams;
    if (options_.average == Average::kRank0 && !team_.is_root()) time = 0;
  }
  team_.reduce(&times, op);
  timing->cpu_seconds = times.back();
  times.pop_back();
  timing->seconds = times.back();
  times.pop_back();
  timing->iterations = std::move(times);
  if (options_.per_iteration) {
    timing->seconds = 0;
    for (double time : timing->iterations) timing->seconds += time * options_.calls_per_iteration / 1e6;
  }
}

// Wrong elements over all ranks and all checked runs.
std::uint64_t Measure::check(const Work& work) {
  std::vector<std::uint64_t> counts(2);
  for (int run = 0; run < options_.checks; ++run) {
    const CheckCounts own = checker_.run(work, *pattern_);
    counts[0] += own.wrong;
    counts[1] += own.out_of_bounds;
  }
  team_.sum(&counts);
  out_of_bounds_ += counts[1];
  return counts[0];
}

std::vector<CounterRow> Measure::count_traffic(std::size_t bytes) {
  const Shape shape = collective_.shape(bytes, pattern_->type().bytes, team_.nranks());
  const Work what = work(shape, false);
  team_.enter("counted run, out of place", shape.bytes);
  team_.synchronize();
  const Traffic before = read_traffic(team_);
  start_operations(what, team_, buffers_, 1, [](int) { return std::size_t{0}; });
  team_.synchronize();
  const Traffic after = read_traffic(team_);
  std::vector<CounterRow> rows = gather_traffic(team_, before, after);
  for (CounterRow& row : rows) {
    row.bytes = shape.bytes;
    row.type = pattern_->type().name;
    row.op = op_name(op_);
    row.root = root_;
    row.ideal = collective_.ideal_bytes(shape, pattern_->type().bytes, row.rank, team_.nranks(), root_);
  }
  return rows;
}

}  // namespace perf
