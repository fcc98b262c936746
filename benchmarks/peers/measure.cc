#include "peers/measure.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "peers/clocks.h"
#include "peers/probe.h"

namespace peers {
namespace {

constexpr double kBlockSeconds = 0.04;
constexpr int kLeastBlocks = 5;

// Integers in [-512, 511]: the float32 sum of up to 2^14 of them is exact in any order, so the check is bit for bit.
float value(int rank, uint32_t round, std::size_t index) {
  uint64_t mixed = (index + round) * 0x9e3779b97f4a7c15ull + (static_cast<uint64_t>(rank) + 1) * 0xd1b54a32d192ed03ull;
  mixed ^= mixed >> 29;
  mixed *= 0xbf58476d1ce4e5b9ull;
  mixed ^= mixed >> 32;
  return static_cast<float>(static_cast<int>(mixed & 1023) - 512);
}

class Buffer {
 public:
  explicit Buffer(std::size_t bytes) : bytes_((bytes + 4095) / 4096 * 4096) {
    void* memory = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) {
      std::perror("mmap");
      std::exit(1);
    }
    data_ = static_cast<float*>(memory);
    std::memset(data_, 0xff, bytes_);
  }
  ~Buffer() { munmap(data_, bytes_); }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  [[nodiscard]] float* data() const { return data_; }

 private:
  std::size_t bytes_;
  float* data_;
};

struct Result {
  std::vector<double> blocks;  // seconds an operation
  double wrong = 0;            // elements, of all ranks and checks
  double probe_before = 0;     // nanoseconds one way; 0: not asked
  double probe_after = 0;
  double foreign = 0;         // processors that other programs used meanwhile
  double cpu_per_second = 0;  // processors that the ranks used
};

// One size on one rank.
class Measurement {
 public:
  Measurement(Peer& peer, const Options& options, const Probe& probe, std::size_t bytes)
      : peer_(peer), options_(options), probe_(probe), count_(bytes / sizeof(float)), in_(bytes), out_(bytes) {}

  Result run() {
    fill();
    checked_operation();
    const long operations = calibrate();
    result_.probe_before = probe_.ask(peer_);
    timed_blocks(operations);
    result_.probe_after = probe_.ask(peer_);
    checked_operation();
    return result_;
  }

 private:
  void fill() {
    for (std::size_t i = 0; i < count_; ++i) in_.data()[i] = value(peer_.rank(), round_, i);
  }

  void checked_operation() {
    std::memset(out_.data(), 0xff, count_ * sizeof(float));  // NaN: nothing may be left over
    peer_.barrier();
    peer_.all_reduce(in_.data(), out_.data(), count_);
    double wrong = 0;
    for (std::size_t i = 0; i < count_; ++i) {
      float right = 0;
      for (int rank = 0; rank < peer_.nranks(); ++rank) right += value(rank, round_, i);
      if (!(out_.data()[i] == right)) ++wrong;
    }
    result_.wrong += peer_.sum_over_ranks(wrong);
  }

  // Seconds that this rank spent in so many operations.
  double operate(long operations) {
    if (!options_.rewrite) {
      peer_.barrier();
      const double begin = now();
      for (long i = 0; i < operations; ++i) peer_.all_reduce(in_.data(), out_.data(), count_);
      return now() - begin;
    }
    double sum = 0;
    for (long i = 0; i < operations; ++i) {
      ++round_;
      fill();
      peer_.barrier();
      const double begin = now();
      peer_.all_reduce(in_.data(), out_.data(), count_);
      sum += now() - begin;
    }
    return sum;
  }

  // Operations of a block; warms up meanwhile.
  long calibrate() {
    for (long operations = 1;; operations *= 4) {
      const double seconds = peer_.max_over_ranks(operate(operations));
      if (seconds <= 0.03 && operations < (1 << 20)) continue;
      return std::clamp(static_cast<long>(kBlockSeconds * static_cast<double>(operations) / seconds), 1L, 2'000'000L);
    }
  }

  void timed_blocks(long operations) {
    const CpuTimes cpu_before = cpu_times();
    const double begin = now();
    for (;;) {
      result_.blocks.push_back(peer_.max_over_ranks(operate(operations)) / static_cast<double>(operations));
      const bool over = peer_.max_over_ranks(now() - begin) > options_.seconds;
      if (over && result_.blocks.size() >= kLeastBlocks) break;
    }
    const CpuTimes cpu = cpu_times();
    const double seconds = now() - begin;
    const double own = peer_.sum_over_ranks(cpu.process - cpu_before.process);
    result_.cpu_per_second = own / seconds;
    result_.foreign = std::max(0.0, (cpu.machine - cpu_before.machine - own) / seconds);
  }

  Peer& peer_;
  const Options& options_;
  const Probe& probe_;
  std::size_t count_;
  Buffer in_;
  Buffer out_;
  uint32_t round_ = 0;
  Result result_;
};

void print(const Options& options, int nranks, std::size_t bytes, Result result) {
  std::sort(result.blocks.begin(), result.blocks.end());
  const double median = result.blocks[result.blocks.size() / 2];
  std::printf(
      "{\"peer\": \"%s\", \"nranks\": %d, \"bytes\": %zu, \"us\": %.4f, \"min_us\": %.4f, \"max_us\": %.4f, "
      "\"blocks\": %zu, \"wrong\": %.0f, \"rewrite\": %s, \"probe_ns\": [%.0f, %.0f], \"foreign_cpus\": %.3f, "
      "\"own_cpus\": %.3f}\n",
      options.name.c_str(), nranks, bytes, median * 1e6, result.blocks.front() * 1e6, result.blocks.back() * 1e6,
      result.blocks.size(), result.wrong, options.rewrite ? "true" : "false", result.probe_before, result.probe_after,
      result.foreign, result.cpu_per_second);
  std::fflush(stdout);
}

}  // namespace

int measure(Peer& peer, const Options& options) {
  const Probe probe(options.probe_file);
  bool right = true;
  for (const std::size_t bytes : options.sizes) {
    const Result result = Measurement(peer, options, probe, bytes).run();
    right = right && result.wrong == 0;
    if (peer.rank() == 0) print(options, peer.nranks(), bytes, result);
  }
  return right ? 0 : 1;
}

}  // namespace peers
