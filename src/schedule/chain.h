// The chain: broadcast and reduce along the ring, opened beside its root. Slices follow each other, so that every link
// carries the message once, and all links at the same time.
#pragma once

#include "schedule/collective.h"
#include "schedule/steps.h"

namespace ronde::schedule {

// From the root on, to the position before it.
class ChainBroadcast {
 public:
  static constexpr Collective kCollective = Collective::broadcast;
  static constexpr bool kChunkPerRank = false;
  static constexpr bool kPartialsAreInputs = false;

  ChainBroadcast(int n, int position, int root) : n_(n), position_(position), distance_((position + n - root) % n) {}

  [[nodiscard]] int steps() const { return 1; }

  [[nodiscard]] LinkStep step(int) const {
    const bool first = distance_ == 0;
    const bool last = distance_ == n_ - 1;
    return {.from = {(position_ + n_ - 1) % n_, first ? 0 : 1},
            .to = {(position_ + 1) % n_, last ? 0 : 1},
            .add_input = first,
            .keep = true,
            .receives_final = !first,
            .sends_final = !last};
  }

 private:
  int n_;
  int position_;
  int distance_;  // from the root
};

// From the position behind the root round to the root: each adds its input.
class ChainReduce {
 public:
  static constexpr Collective kCollective = Collective::reduce;
  static constexpr bool kChunkPerRank = false;
  static constexpr bool kPartialsAreInputs = false;

  ChainReduce(int n, int position, int root)
      : n_(n), position_(position), distance_((position + 2 * n - root - 1) % n) {}

  [[nodiscard]] int steps() const { return 1; }

  [[nodiscard]] LinkStep step(int) const {
    const bool first = distance_ == 0;
    const bool last = distance_ == n_ - 1;
    return {.from = {(position_ + n_ - 1) % n_, first ? 0 : 1},
            .to = {(position_ + 1) % n_, last ? 0 : 1},
            .add_input = true,
            .keep = last};
  }

 private:
  int n_;
  int position_;
  int distance_;  // from the one behind the root
};

}  // namespace ronde::schedule
