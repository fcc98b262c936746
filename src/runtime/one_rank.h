// What a rank does with itself alone.
#pragma once

#include "runtime/operation.h"

namespace ronde {

// A collective of a single rank: whatever it gives, it gets.
void run_on_one_rank(const OperationArgs& args);

// The messages of a rank to itself; each send has its receive.
void copy_own_messages(const std::vector<PairMessage>& messages, int rank);

}  // namespace ronde
