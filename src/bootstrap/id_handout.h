// How rank 0 hands an id to the other processes of its job on one host: over an abstract Unix socket, named after the
// user and the job, between processes of the same user.
#pragma once

#include <cstdint>
#include <string>

#include "base/deadline.h"
#include "base/event_loop.h"
#include "base/status.h"
#include "bootstrap/unique_id.h"

namespace ronde {

// `call` tells the ids apart that one job gets one after the other: equal for both sides.
// Rank 0: serves on `loop` until all `others` have the id, or `limit` has passed. rondeSystemError: another process
// does.
Status hand_out_id(EventLoop& loop, const std::string& job, uint64_t call, const UniqueId& id, int others,
                   Milliseconds limit);

// The others. Blocks until rank 0 serves. rondeTimedOut; rondeInvalidUsage: the one that serves belongs to another
// user, or hands out something else.
Result<UniqueId> fetch_id(const std::string& job, uint64_t call, Deadline deadline);

}  // namespace ronde
