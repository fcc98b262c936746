// Vector clocks: what of the others' past a position can have seen through messages. For the verifier.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace ronde::schedule {

class VectorClock {
 public:
  explicit VectorClock(int n) : times_(static_cast<size_t>(n)) {}

  // The next event of `position`.
  void tick(int position) { ++times_[static_cast<size_t>(position)]; }

  [[nodiscard]] uint32_t time(int position) const { return times_[static_cast<size_t>(position)]; }

  void join(const VectorClock& other) {
    for (size_t i = 0; i < times_.size(); ++i) times_[i] = std::max(times_[i], other.times_[i]);
  }

  // Whether the event of `position` at `time` happened before (or is) the last event of this clock.
  [[nodiscard]] bool has_seen(int position, uint32_t event) const { return time(position) >= event; }

 private:
  std::vector<uint32_t> times_;
};

}  // namespace ronde::schedule
