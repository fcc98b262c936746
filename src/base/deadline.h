// Points in time until which a wait may last. Monotonic clock; state machines are handed `Time` and never ask a clock.
#pragma once

#include <algorithm>
#include <chrono>

namespace ronde {

using Clock = std::chrono::steady_clock;
using Time = Clock::time_point;
using Milliseconds = std::chrono::milliseconds;

class Deadline {
 public:
  static Deadline at(Time time) { return Deadline(time); }
  static Deadline after(Milliseconds wait) { return Deadline(Clock::now() + wait); }
  static Deadline never() { return Deadline(Time::max()); }

  [[nodiscard]] Time time() const { return time_; }
  [[nodiscard]] bool passed(Time now) const { return now >= time_; }
  [[nodiscard]] bool passed() const { return time_ != Time::max() && passed(Clock::now()); }

  // Whole milliseconds left, rounded up, at least 0 and at most `cap`: a timeout for poll and epoll.
  [[nodiscard]] int poll_timeout(Time now, int cap) const {
    if (now >= time_) return 0;
    if (time_ == Time::max()) return cap;
    const auto left = std::chrono::ceil<Milliseconds>(time_ - now).count();
    return static_cast<int>(std::min<long long>(left, cap));
  }
  [[nodiscard]] Deadline halfway(Time now) const {
    return time_ == Time::max() || now >= time_ ? *this : Deadline(now + (time_ - now) / 2);
  }
  [[nodiscard]] Deadline earlier(Deadline other) const { return Deadline(std::min(time_, other.time_)); }

 private:
  explicit Deadline(Time time) : time_(time) {}
  Time time_;
};

}  // namespace ronde
