// The star, the pattern of a parameter server: position 0 collects everybody's input, adds, and hands the result back.
// Here to be compared with the ring: its position 0 sends and receives n-1 times the message.
#pragma once

#include "schedule/collective.h"
#include "schedule/steps.h"

namespace ronde::schedule {

class Star {
 public:
  static constexpr Collective kCollective = Collective::all_reduce;
  static constexpr bool kChunkPerRank = false;
  static constexpr bool kPartialsAreInputs = true;  // what is not final is somebody's input as it was

  Star(int n, int position, int /*root*/ = 0) : n_(n), position_(position) {}

  [[nodiscard]] int steps() const { return position_ == 0 ? 1 : 2; }

  [[nodiscard]] LinkStep step(int number) const {
    if (position_ == 0) {
      return {.from = {1, n_ - 1}, .to = {1, n_ - 1}, .add_input = true, .keep = true, .sends_final = true};
    }
    if (number == 0) return {.to = {0, 1}, .add_input = true};
    return {.from = {0, 1}, .keep = true, .receives_final = true};
  }

 private:
  int n_;
  int position_;
};

}  // namespace ronde::schedule
