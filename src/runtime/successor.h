// The communicator of the ranks that are left: who they are, and where they meet. What is agreed here a new communicator is
// started from, as from any id.
#pragma once

#include <memory>
#include <set>

#include "base/event_loop.h"
#include "bootstrap/rendezvous.h"
#include "control/control.h"

namespace ronde {

// What it takes of the communicator before; may outlive it.
struct Predecessor {
  std::shared_ptr<Control> control;
  Secret secret{};
  uint32_t rank = 0;
};

struct Succession {
  UniqueId id;
  std::vector<uint32_t> members;  // ranks of the predecessor, rising: the place of each is its new rank
  int rank = 0;                   // of this process
};

// See Control::shrink. meeting: for the rank in whose process the others meet.
Result<Succession> agree_on_succession(EventLoop& loop, const Predecessor& predecessor,
                                       const std::set<uint32_t>& without, const RendezvousOptions& meeting,
                                       Deadline deadline);

}  // namespace ronde
