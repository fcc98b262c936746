// What an operation that has been checked becomes: a call of the open group, an entry of a stream, or a run in this
// thread.
#pragma once

#include "api/handles.h"
#include "runtime/operation.h"

namespace ronde::api {

// comm is ready, stream a stream or NULL. What a group or a stream keeps is taken out of args.
Status start_call(OperationArgs&& args, rondeComm_t comm, rondeStream_t stream);

// The communicator is ready. One that is not yet: rondeInProgress, and in an open group rondeInvalidUsage, as a group
// cannot be without one of its calls.
Status check_callable(rondeComm_t comm, const char* function);

// A group fails with the first of its calls that does. (rondeInProgress: a rank is made in the background.)
Status remembered_by_group(const Status& status);

}  // namespace ronde::api
