// A communicator of the ranks of another one and of more that join it.
#pragma once

#include <memory>
#include <optional>

#include "bootstrap/rendezvous.h"
#include "runtime/communicator.h"
#include "runtime/worker.h"

namespace ronde {

struct GrowWish {
  int32_t nranks = 0;          // of the new one
  std::optional<UniqueId> id;  // where all meet; on one rank at least
};

// An id for that, good for one grow: a meeting point in this process. meeting: what the settings say.
Result<UniqueId> grow_id(Process& process, const Communicator& parent, const RendezvousOptions& meeting);
// It is one of that communicator.
[[nodiscard]] bool is_grow_id(const UniqueId& id, const Communicator& parent);

// All ranks of the parent call it, and keep their numbers; the ranks that join call make_rank with the id. What goes
// wrong on one rank is the error of all, also of those that join. Turn, parent and options as in make_part.
Result<std::unique_ptr<Communicator>> make_grown(Process& process, Communicator& parent, Turn* turn,
                                                 const GrowWish& wish, CommunicatorOptions options,
                                                 const RendezvousOptions& meeting);

}  // namespace ronde
