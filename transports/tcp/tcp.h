// TCP between any two ranks. A link is one or several connections in one direction; slices are taken from one queue by
// whichever connection can write, and placed by their number at the other end. Sends straight from the caller's memory
// and receives straight into it; no staging copy unless a step must combine.
#pragma once

#include <memory>

#include "link/transport.h"

namespace ronde {

std::unique_ptr<Transport> make_tcp_transport();

}  // namespace ronde
