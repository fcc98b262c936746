// Ranks of one host: they hand each other their segments and doorbells over Unix sockets and read each other's memory.
#pragma once

#include <memory>

#include "link/transport.h"

namespace ronde {

std::unique_ptr<Transport> make_shm_transport();

}  // namespace ronde
