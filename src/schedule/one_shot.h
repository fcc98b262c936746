// One-shot: everybody publishes its whole input, everybody combines everything, in the order of positions. One
// synchronisation; n times the reads of two-shot. For messages that are small beside the cost of a synchronisation.
//
// Two window slots, used in turn: a piece goes into the slot of the piece before the last. At that time this position
// has combined the last piece, so everybody had published it, so everybody had combined the one before.
#pragma once

#include "schedule/collective.h"
#include "schedule/steps.h"

namespace ronde::schedule {

class OneShot {
 public:
  static constexpr Collective kCollective = Collective::all_reduce;
  static constexpr size_t kSlots = 2;

  OneShot(int /*n*/, int /*position*/, size_t pieces) : pieces_(pieces) {}

  [[nodiscard]] size_t steps() const { return 2 * pieces_; }

  [[nodiscard]] WindowStep step(size_t number) const {
    return {.action = number % 2 == 0 ? WindowAction::publish : WindowAction::combine, .piece = number / 2};
  }

 private:
  size_t pieces_;
};

}  // namespace ronde::schedule
