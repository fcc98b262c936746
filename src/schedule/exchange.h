// Blocks that go straight from the rank that has them to the one that wants them: all-to-all, gather, scatter. A chunk
// is what one position has for another one. Each link carries its own blocks only, so an executor may go on with
// whichever link can move; the order here is one that ends with a single slot a link.
#pragma once

#include "schedule/collective.h"
#include "schedule/steps.h"

namespace ronde::schedule {

// All-to-all: n * n chunks, numbered sender * n + receiver. In round k position p exchanges with k - p (modulo n),
// which exchanges with p: so a block has been sent before the one that comes back is written over it.
class Exchange {
 public:
  static constexpr Collective kCollective = Collective::all_to_all;

  Exchange(int n, int position, int /*root*/ = 0) : n_(n), position_(position) {}

  [[nodiscard]] int steps() const { return 2 * n_ - 1; }

  [[nodiscard]] LinkStep step(int number) const {
    if (number == 0) return {.chunk = chunk(position_, position_), .add_input = true, .keep = true};
    const int alone = 2 * position_ % n_;  // the round in which it would exchange with itself
    const int pair = (number - 1) / 2;
    const int peer = ((pair < alone ? pair : pair + 1) + n_ - position_) % n_;
    if (number % 2 == 1)
      return {.chunk = chunk(position_, peer), .to = {peer, 1}, .add_input = true, .sends_final = true};
    return {.chunk = chunk(peer, position_), .from = {peer, 1}, .keep = true, .receives_final = true};
  }

 private:
  [[nodiscard]] int chunk(int sender, int receiver) const { return sender * n_ + receiver; }

  int n_;
  int position_;
};

// Gather: chunk c is what position c gives.
class Gather {
 public:
  static constexpr Collective kCollective = Collective::gather;

  Gather(int n, int position, int root) : n_(n), position_(position), root_(root) {}

  [[nodiscard]] int steps() const { return position_ == root_ ? n_ : 1; }

  [[nodiscard]] LinkStep step(int number) const {
    if (position_ != root_) return {.chunk = position_, .to = {root_, 1}, .add_input = true, .sends_final = true};
    if (number == 0) return {.chunk = root_, .add_input = true, .keep = true};
    const int peer = (root_ + number) % n_;
    return {.chunk = peer, .from = {peer, 1}, .keep = true, .receives_final = true};
  }

 private:
  int n_;
  int position_;
  int root_;
};

// Scatter: chunk c is what the root has for position c.
class Scatter {
 public:
  static constexpr Collective kCollective = Collective::scatter;

  Scatter(int n, int position, int root) : n_(n), position_(position), root_(root) {}

  [[nodiscard]] int steps() const { return position_ == root_ ? n_ : 1; }

  [[nodiscard]] LinkStep step(int number) const {
    if (position_ != root_) return {.chunk = position_, .from = {root_, 1}, .keep = true, .receives_final = true};
    if (number == 0) return {.chunk = root_, .add_input = true, .keep = true};
    const int peer = (root_ + number) % n_;
    return {.chunk = peer, .to = {peer, 1}, .add_input = true, .sends_final = true};
  }

 private:
  int n_;
  int position_;
  int root_;
};

}  // namespace ronde::schedule
