// What an operation that has been checked becomes: a call of the open group, an entry of a stream, or a run in this thread.
#pragma once

#include "api/handles.h"
#include "runtime/operation.h"

namespace ronde::api {

// comm is ready, stream a stream or NULL. What a group or a stream keeps is taken out of args.
Status start_call(OperationArgs&& args, rondeComm_t comm, rondeStream_t stream);

// A group fails with the first of its calls that does.
Status remembered_by_group(const Status& status);

}  // namespace ronde::api
