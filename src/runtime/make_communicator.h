// One rank's communicator, made from an id or as the successor of a communicator.
#pragma once

#include <memory>
#include <set>

#include "bootstrap/rendezvous.h"
#include "runtime/communicator.h"

namespace ronde {

// All block until all ranks are there, at most to the deadline, or 1 s more once options.stop (which must be there) is
// set. meeting: what the settings say; its stop is set here.
Result<std::unique_ptr<Communicator>> make_rank(Process& process, const UniqueId& id, CommunicatorOptions options,
                                                RendezvousOptions meeting, Deadline deadline);
// The same for ranks that have a rendezvous already. options: with numbers, job and secret; its stop may be null.
Result<std::unique_ptr<Communicator>> make_rank(Process& process, CommunicatorOptions options,
                                                std::unique_ptr<Rendezvous> rendezvous, Deadline deadline);
// All ranks that are left, and are not in `without`, get one, or none does. options: without numbers, job and secret.
Result<std::unique_ptr<Communicator>> make_successor(Process& process, const Predecessor& before,
                                                     const std::set<uint32_t>& without, CommunicatorOptions options,
                                                     RendezvousOptions meeting, Deadline deadline);

}  // namespace ronde
