// Reductions in the order of positions, over links: for what depends on the order, and for bits that do not depend on
// how ranks are spread. Everything else is faster round the ring.
#pragma once

#include "schedule/collective.h"
#include "schedule/steps.h"

namespace ronde::schedule {

// All-reduce along a chain from position 0 to n-1, then the result from n-1 to 0, 1, ... n-2. All slices go through the
// first step before the second one begins (depth: all slices): both are pipelined, each link carries the message at
// most twice.
class OrderedChain {
 public:
  static constexpr Collective kCollective = Collective::all_reduce;
  static constexpr bool kChunkPerRank = false;
  static constexpr bool kPartialsAreInputs = false;

  OrderedChain(int n, int position, int /*root*/ = 0) : n_(n), position_(position) {}

  [[nodiscard]] int steps() const { return 2; }

  [[nodiscard]] LinkStep step(int number) const {
    const Peers previous{(position_ + n_ - 1) % n_, 1};
    const Peers next{(position_ + 1) % n_, 1};
    const bool last = position_ == n_ - 1;
    if (number == 0) {
      return {
          .from = position_ == 0 ? Peers{} : previous, .to = last ? Peers{} : next, .add_input = true, .keep = last};
    }
    if (last) return {.to = next, .from_output = true, .sends_final = true};
    const bool hands_on = position_ != n_ - 2;
    return {.from = previous,
            .to = hands_on ? next : Peers{},
            .keep = true,
            .receives_final = true,
            .sends_final = hands_on};
  }

 private:
  int n_;
  int position_;
};

// Reduce: all inputs straight to the root, which combines them in one pass.
class DirectReduce {
 public:
  static constexpr Collective kCollective = Collective::reduce;
  static constexpr bool kChunkPerRank = false;
  static constexpr bool kPartialsAreInputs = true;

  DirectReduce(int n, int position, int root) : n_(n), position_(position), root_(root) {}

  [[nodiscard]] int steps() const { return 1; }

  [[nodiscard]] LinkStep step(int) const {
    if (position_ != root_) return {.to = {root_, 1}, .add_input = true};
    return {.from = {(root_ + 1) % n_, n_ - 1}, .add_input = true, .keep = true};
  }

 private:
  int n_;
  int position_;
  int root_;
};

// Reduce-scatter: the same, with every position as the root of its chunk. depth: at most the slots of a link.
class ScatteredReduce {
 public:
  static constexpr Collective kCollective = Collective::reduce_scatter;
  static constexpr bool kChunkPerRank = true;
  static constexpr bool kPartialsAreInputs = true;

  ScatteredReduce(int n, int position, int /*root*/ = 0) : n_(n), position_(position) {}

  [[nodiscard]] int steps() const { return n_; }

  [[nodiscard]] LinkStep step(int number) const {
    if (number == n_ - 1)
      return {.chunk = position_, .from = {(position_ + 1) % n_, n_ - 1}, .add_input = true, .keep = true};
    const int peer = (position_ + 1 + number) % n_;
    return {.chunk = peer, .to = {peer, 1}, .add_input = true};
  }

 private:
  int n_;
  int position_;
};

}  // namespace ronde::schedule
