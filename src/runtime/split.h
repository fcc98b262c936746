// A communicator's ranks, or some of them, as communicators of their own.
#pragma once

#include <memory>
#include <optional>

#include "bootstrap/rendezvous.h"
#include "runtime/communicator.h"
#include "runtime/worker.h"

namespace ronde {

// Ranks of one colour become one communicator, numbered by key, those of equal keys as before. Without a colour: none.
struct SplitWish {
  std::optional<int32_t> color;
  int32_t key = 0;
};

// All ranks of the parent call it. Null for a rank without a colour. What goes wrong on one rank is the error of all of
// its colour; what goes wrong with the parent is everybody's. Blocks until the turn has come (null: nothing is queued,
// and nothing else is called meanwhile), then in operations of the parent as any of them, then at most for the time of
// a start. The parent must live until the turn has ended. options: without numbers, job and secret, with a stop, which,
// set before the turn has ended, gives up the parent, too. purpose: split or dup.
Result<std::unique_ptr<Communicator>> make_part(Process& process, Communicator& parent, Turn* turn, Purpose purpose,
                                                const SplitWish& wish, CommunicatorOptions options,
                                                const RendezvousOptions& meeting);

}  // namespace ronde
