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

// Queues the calls that name a stream and drives the others together in the calling thread, those of one communicator in
// their order. Returns the first error. Communicators are this thread's for the time.
Status run_group(const std::vector<GroupCall>& calls, Worker& worker);

}  // namespace ronde
