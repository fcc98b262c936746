// The ring of n >= 2 positions: reduce-scatter and all-gather, and both fused in one pass.
//
// All-reduce: position p first sends its own chunk p. Then, for i = 0 .. 2n-3, it receives chunk p-i-1 (modulo n):
// while i <= n-2 it adds its own input, from i = n-2 on it keeps the result, and it sends on all but the last. After i
// = n-2 every position holds one complete chunk; the rest of the way hands these round. The two halves alone begin one
// chunk earlier or end one step earlier, so that the chunk of position p ends, or begins, at p.
#pragma once

#include "schedule/collective.h"
#include "schedule/steps.h"

namespace ronde::schedule {

class Ring {
 public:
  static constexpr Collective kCollective = Collective::all_reduce;
  static constexpr bool kChunkPerRank = true;        // n chunks; else the whole range is one chunk
  static constexpr bool kPartialsAreInputs = false;  // what is not final has been through a reduction

  Ring(int n, int position, int /*root*/ = 0) : n_(n), position_(position) {}

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

// Chunk c starts at position c+1, and is complete when it comes to c.
class RingReduceScatter {
 public:
  static constexpr Collective kCollective = Collective::reduce_scatter;
  static constexpr bool kChunkPerRank = true;
  static constexpr bool kPartialsAreInputs = false;

  RingReduceScatter(int n, int position, int /*root*/ = 0) : n_(n), position_(position) {}

  [[nodiscard]] int steps() const { return n_; }

  [[nodiscard]] LinkStep step(int number) const {
    const int previous = (position_ + n_ - 1) % n_;
    const int next = (position_ + 1) % n_;
    const int chunk = (position_ + 2 * n_ - number - 1) % n_;
    if (number == 0) return {.chunk = chunk, .to = {next, 1}, .add_input = true};
    const bool last = number == n_ - 1;
    return {.chunk = chunk, .from = {previous, 1}, .to = {next, last ? 0 : 1}, .add_input = true, .keep = last};
  }

 private:
  int n_;
  int position_;
};

// Chunk c starts at position c, and everybody but the last hands it on.
class RingAllGather {
 public:
  static constexpr Collective kCollective = Collective::all_gather;
  static constexpr bool kChunkPerRank = true;
  static constexpr bool kPartialsAreInputs = false;

  RingAllGather(int n, int position, int /*root*/ = 0) : n_(n), position_(position) {}

  [[nodiscard]] int steps() const { return n_; }

  [[nodiscard]] LinkStep step(int number) const {
    const int previous = (position_ + n_ - 1) % n_;
    const int next = (position_ + 1) % n_;
    const int chunk = (position_ + n_ - number) % n_;
    if (number == 0) return {.chunk = chunk, .to = {next, 1}, .add_input = true, .keep = true, .sends_final = true};
    const bool last = number == n_ - 1;
    return {.chunk = chunk,
            .from = {previous, 1},
            .to = {next, last ? 0 : 1},
            .keep = true,
            .receives_final = true,
            .sends_final = !last};
  }

 private:
  int n_;
  int position_;
};

}  // namespace ronde::schedule
