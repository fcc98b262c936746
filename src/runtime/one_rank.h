// Collectives of a single rank: whatever it gives, it gets.
#pragma once

#include "runtime/operation.h"

namespace ronde {

void run_on_one_rank(const OperationArgs& args);

}  // namespace ronde
