// The group that the calling thread has open, if any: what was called since rondeGroupStart.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "api/handles.h"

namespace ronde::api {

// A rank that is made when the group ends.
struct GroupInit {
  // Blocks until the others are there, or `stop` is set.
  std::function<Result<std::unique_ptr<rondeComm>>(const std::shared_ptr<FailureState>& stop)> make;
  rondeComm_t* target = nullptr;
  const Communicator* parent = nullptr;  // which must live until then
};

struct OpenGroup {
  int depth = 0;
  std::vector<GroupCall> calls;
  std::vector<GroupInit> inits;
  Status first_error;  // of a call inside the group

  [[nodiscard]] bool open() const { return depth > 0; }
};

OpenGroup& group_of_thread();

// rondeInvalidUsage if the open group of this thread holds calls on the communicator or stream, which must live until
// then.
Status check_not_in_group(const Communicator& communicator, const char* function);
Status check_not_in_group(const Stream& stream, const char* function);

// Makes all of them, each in a thread of its own, since every one waits for the others (a single one in this thread),
// and writes the targets. An error, the first cause: none is written, and all have ended. One that fails stops the
// others, which it may not have met yet.
Status make_together(const std::vector<GroupInit>& inits);

}  // namespace ronde::api
