#include "api/calls.h"

#include <fmt/format.h>

#include "api/group.h"

namespace ronde::api {

Status start_call(OperationArgs&& args, rondeComm_t comm, rondeStream_t stream) {
  Communicator& communicator = *comm->communicator;
  OpenGroup& group = group_of_thread();
  if (group.open()) {
    RONDE_TRY(communicator.refusal());
    group.calls.push_back({&communicator, stream != nullptr ? &stream->stream : nullptr, std::move(args)});
    return {};
  }
  if (stream != nullptr) {
    RONDE_TRY(communicator.refusal());
    return process().worker().enqueue(stream->stream, communicator, std::move(args));
  }
  if (communicator.has_queued()) RONDE_TRY(process().worker().wait_for(communicator));
  return communicator.run(args);
}

Status check_callable(rondeComm_t comm, const char* function) {
  Status ready = check_ready(comm, function);
  if (ready.code() != rondeInProgress || !group_of_thread().open()) return ready;
  return {rondeInvalidUsage,
          fmt::format("{}: the communicator is not ready yet (rondeCommGetAsyncError tells when it is): "
                      "nothing of the group is started",
                      function)};
}

Status remembered_by_group(const Status& status) {
  OpenGroup& group = group_of_thread();
  const bool failed = !status.ok() && status.code() != rondeInProgress;
  if (failed && group.open() && group.first_error.ok()) group.first_error = status;
  return status;
}

}  // namespace ronde::api
