// How a communicator comes into being: the ranks tell each other what they are, find out who reaches whom and how, and
// make the same plan of links.
#pragma once

#include "runtime/communicator.h"

namespace ronde {

// Blocks, at most to the deadline. On an error the other ranks are told, with the cause.
Result<CommunicatorParts> set_up_communicator(Process& process, CommunicatorOptions options,
                                              std::shared_ptr<black_box::Area> black_box,
                                              std::unique_ptr<Rendezvous> rendezvous, Deadline deadline);

}  // namespace ronde
