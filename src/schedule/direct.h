// Reduce-scatter and all-gather in windows: the two halves of two-shot. Everybody reads what it needs where the others
// have put it.
//
// A piece is a slice of each rank's block. The slots are those of two-shot. Here piece q+1 is published after piece q
// has been read from all, so everybody had published q, so everybody had read all of q-1 before.
#pragma once

#include "schedule/collective.h"
#include "schedule/steps.h"

namespace ronde::schedule {

class DirectReduceScatter {
 public:
  static constexpr Collective kCollective = Collective::reduce_scatter;
  static constexpr size_t kSlots = 3;

  DirectReduceScatter(int /*n*/, int /*position*/, size_t pieces) : pieces_(pieces) {}

  [[nodiscard]] size_t steps() const { return 2 * pieces_; }

  [[nodiscard]] WindowStep step(size_t number) const {
    if (number % 2 == 0) return {.action = WindowAction::publish, .piece = number / 2, .parts = WindowParts::others};
    return {.action = WindowAction::combine, .piece = number / 2, .parts = WindowParts::own};
  }

 private:
  size_t pieces_;
};

class DirectAllGather {
 public:
  static constexpr Collective kCollective = Collective::all_gather;
  static constexpr size_t kSlots = 3;

  DirectAllGather(int n, int position, size_t pieces) : n_(n), position_(position), pieces_(pieces) {}

  [[nodiscard]] size_t steps() const { return pieces_ * per_piece(); }

  // For each piece: publish, keep the own part while others publish theirs, fetch from the n-1 others.
  [[nodiscard]] WindowStep step(size_t number) const {
    const size_t piece = number / per_piece();
    const size_t within = number % per_piece();
    if (within == 0) return {.action = WindowAction::publish, .piece = piece, .parts = WindowParts::own};
    if (within == 1) return {.action = WindowAction::keep, .piece = piece};
    const int peer = (position_ + static_cast<int>(within) - 1) % n_;
    return {.action = WindowAction::fetch, .piece = piece, .peer = peer, .as_published = true};
  }

 private:
  [[nodiscard]] size_t per_piece() const { return static_cast<size_t>(n_) + 1; }

  int n_;
  int position_;
  size_t pieces_;
};

}  // namespace ronde::schedule
