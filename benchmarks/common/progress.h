// What a rank's thread is doing just now, for messages and for the time limit of another thread.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <string>

namespace perf {

class Progress {
 public:
  using Clock = std::chrono::steady_clock;

  explicit Progress(int first_rank) : first_rank_(first_rank) {}

  // phase is a string constant: it is read by another thread.
  void enter(const char* phase, std::size_t bytes) {
    bytes_.store(bytes, std::memory_order_relaxed);
    since_.store(Clock::now().time_since_epoch().count(), std::memory_order_relaxed);
    phase_.store(phase, std::memory_order_release);
  }

  void end() { ended_.store(true, std::memory_order_release); }
  bool ended() const { return ended_.load(std::memory_order_acquire); }

  int first_rank() const { return first_rank_; }
  const char* phase() const { return phase_.load(std::memory_order_acquire); }
  std::size_t bytes() const { return bytes_.load(std::memory_order_relaxed); }
  double seconds_in_phase() const {
    const Clock::duration since(since_.load(std::memory_order_relaxed));
    return std::chrono::duration<double>(Clock::now().time_since_epoch() - since).count();
  }

 private:
  const int first_rank_;
  std::atomic<const char*> phase_{"start"};
  std::atomic<std::size_t> bytes_{0};
  std::atomic<Clock::rep> since_{Clock::now().time_since_epoch().count()};
  std::atomic<bool> ended_{false};
};

}  // namespace perf
