// Two-shot: everybody publishes its input in a window, combines its own part over all windows, publishes that, and
// fetches the parts of the others. Cut into pieces; publishing piece q+1 overlaps with the others' combining of piece
// q.
//
// A window holds kSlots pieces. Piece q+1 goes into the slot of piece q-2: at that time this position has combined
// piece q, so everybody has published q, so everybody had fetched all of q-2 before.
#pragma once

#include "schedule/collective.h"
#include "schedule/steps.h"

namespace ronde::schedule {

class TwoShot {
 public:
  static constexpr Collective kCollective = Collective::all_reduce;
  static constexpr size_t kSlots = 3;

  TwoShot(int n, int position, size_t pieces) : n_(n), position_(position), pieces_(pieces) {}

  // publish 0; then for each piece: combine it, publish the next, fetch from the n-1 others.
  [[nodiscard]] size_t steps() const { return 1 + pieces_ * static_cast<size_t>(n_ + 1) - 1; }

  [[nodiscard]] WindowStep step(size_t number) const {
    if (number == 0) return publish(0);
    const size_t per_piece = static_cast<size_t>(n_) + 1;
    const size_t piece = (number - 1) / per_piece;
    size_t within = (number - 1) % per_piece;
    if (within == 0)
      return {.action = WindowAction::combine, .piece = piece, .parts = WindowParts::own, .hand_out = true};
    const bool last = piece + 1 == pieces_;
    if (within == 1 && !last) return publish(piece + 1);
    if (!last) within -= 1;
    return {.action = WindowAction::fetch, .piece = piece, .peer = (position_ + static_cast<int>(within)) % n_};
  }

 private:
  static WindowStep publish(size_t piece) {
    return {.action = WindowAction::publish, .piece = piece, .parts = WindowParts::others};
  }

  int n_;
  int position_;
  size_t pieces_;
};

}  // namespace ronde::schedule
