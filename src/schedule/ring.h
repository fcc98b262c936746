// The ring: reduce-scatter and all-gather fused in one pass around n >= 2 positions.
//
// Whereabouts p first sends its own chunk p. Then, for i = 0 .. 2n-3, it receives chunk p-i-1 (modulo n): while i <= n-2 it
// adds its own input, from i = n-2 on it keeps the result, and it sends on all but the last. After i = n-2 every position
// holds one complete chunk; the rest of the way hands these round.
#pragma once

#include "schedule/steps.h"

namespace ronde::schedule {

class Ring {
 public:
  static constexpr bool kChunkPerRank = true;        // n chunks; else the whole range is one chunk
  static constexpr bool kPartialsAreInputs = false;  // what is not final has been through a reduction

  Ring(int n, int position) : n_(n), position_(position) {}

  [[nodiscard]] int steps() const { return 2 * n_ - 1; }

  [[nodiscard]] LinkStep step(int number) const {
    const int previous = (position_ + n_ - 1) % n_;
    const int next = (position_ + 1) % n_;
    if (number == 0) return {.chunk = position_, .to = {next, 1}, .add_input = true};
    const int i = number - 1;
    const int last = 2 * n_ - 3;
    return {
        .chunk = (position_ + 2 * n_ - i - 1) % n_,
        .from = {previous, 1},
        .to = {next, i < last ? 1 : 0},
        .add_input = i <= n_ - 2,
        .keep = i >= n_ - 2,
        .receives_final = i >= n_ - 1,
        .sends_final = i >= n_ - 2,
    };
  }

 private:
  int n_;
  int position_;
};

}  // namespace ronde::schedule
