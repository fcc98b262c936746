// The end of a group: starts everything that was recorded since its start.
#pragma once

#include <vector>

#include "runtime/communicator.h"
#include "runtime/worker.h"

namespace ronde {

struct GroupCall {
  Communicator* communicator = nullptr;
  Stream* stream = nullptr;  // null: ended when run_group returns
  OperationArgs args;
};

// Sends and receives as one operation.
[[nodiscard]] OperationArgs messages_of(std::vector<PairMessage> messages);
// rondeInvalidUsage: a message of the rank to itself that has no counterpart of the same size among them.
Status check_own_messages(const OperationArgs& args, int rank);
// The sends and receives of each communicator become one operation, behind its collectives: so all ranks have them at
// the same place, in whatever order they were called. rondeInvalidUsage: they name different streams; or as above.
Result<std::vector<GroupCall>> with_messages_together(std::vector<GroupCall> calls);

// Small all-reduces of one communicator and stream, of one type and built-in reduction, become one, in the place of the
// first of them.
[[nodiscard]] std::vector<GroupCall> with_small_ones_fused(std::vector<GroupCall> calls);

// Queues the calls that name a stream and drives the others together in the calling thread, those of one communicator
// in their order. Returns the first error. Communicators are this thread's for the time.
Status run_group(const std::vector<GroupCall>& calls, Worker& worker);

}  // namespace ronde
