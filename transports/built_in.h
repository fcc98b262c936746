// The transports that this build has, best first. The only list of them.
#pragma once

#include <memory>
#include <vector>

#include "link/transport.h"

namespace ronde {

std::vector<std::unique_ptr<Transport>> built_in_transports();

}  // namespace ronde
