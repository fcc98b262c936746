// Ranks of one process: they find each other in a table of the transport and share their segments by pointer. No
// socket, no proof, no copy of a descriptor.
#pragma once

#include <memory>

#include "link/transport.h"

namespace ronde {

std::unique_ptr<Transport> make_inproc_transport();

}  // namespace ronde
