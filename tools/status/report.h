// What ronde-status prints. Pure.
#pragma once

#include <string>
#include <vector>

#include "status/findings.h"

namespace ronde::status {

// operations: how many of each rank.
std::string as_text(const std::vector<StatusCommunicator>& communicators, size_t operations, Time now);
// As docs/json.md tells.
std::string as_json(const std::vector<StatusCommunicator>& communicators, Time now);

}  // namespace ronde::status
