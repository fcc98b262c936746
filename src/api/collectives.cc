// The collectives of ronde.h: argument checks, then the runtime.
#include <fmt/format.h>

#include "api/group.h"
#include "api/handles.h"

namespace ronde::api {
namespace {

Status check_range(const OperationArgs& args) {
  const size_t size = element_bytes(args.type);
  if (args.count > SIZE_MAX / 2 / size) {
    return {rondeInvalidArgument, fmt::format("rondeAllReduce: count {} is more than memory can hold", args.count)};
  }
  if (args.send == args.receive) return {};
  const auto send = reinterpret_cast<uintptr_t>(args.send);
  const auto receive = reinterpret_cast<uintptr_t>(args.receive);
  const uintptr_t bytes = args.bytes();
  if (send < receive + bytes && receive < send + bytes) {
    return {
        rondeInvalidArgument,
        fmt::format("rondeAllReduce: sendbuff and recvbuff overlap by {} of {} bytes; they must be equal (in place) "
                    "or apart",
                    bytes - (send < receive ? receive - send : send - receive), bytes)};
  }
  return {};
}

Status check_reduction(int type, int op) {
  if (!is_data_type(type)) {
    return {rondeInvalidArgument, fmt::format("rondeAllReduce: datatype {} is not one of rondeDataType_t", type)};
  }
  if (!is_built_in_op(op)) {
    return {rondeInvalidArgument, fmt::format("rondeAllReduce: op {} is not one of rondeRedOp_t", op)};
  }
  return {};
}

Status all_reduce(const OperationArgs& args, rondeComm_t comm, rondeStream_t stream) {
  RONDE_TRY(check_ready(comm, "rondeAllReduce"));
  if (stream != nullptr) RONDE_TRY(check_stream(stream, "rondeAllReduce"));
  RONDE_TRY(check_reduction(args.type, args.op));
  if (args.count > 0) {
    RONDE_TRY(not_null(args.send, "rondeAllReduce", "sendbuff"));
    RONDE_TRY(not_null(args.receive, "rondeAllReduce", "recvbuff"));
    RONDE_TRY(check_range(args));
  }
  Communicator& communicator = *comm->communicator;
  RONDE_TRY(communicator.refusal());
  OpenGroup& group = group_of_thread();
  if (group.open()) {
    group.calls.push_back({&communicator, stream != nullptr ? &stream->stream : nullptr, args});
    return {};
  }
  if (stream != nullptr) return process().worker().enqueue(stream->stream, communicator, args);
  const Communicator::Queue& queue = communicator.queue();
  if (queue.issued != queue.ended) RONDE_TRY(process().worker().wait_for(communicator));
  return communicator.run(args);
}

}  // namespace
}  // namespace ronde::api

rondeResult_t rondeAllReduce(const void* sendbuff, void* recvbuff, size_t count, rondeDataType_t datatype,
                             rondeRedOp_t op, rondeComm_t comm, rondeStream_t stream) {
  return ronde::api::guarded([&] {
    const ronde::Status status = ronde::api::all_reduce({sendbuff, recvbuff, count, datatype, op}, comm, stream);
    ronde::api::OpenGroup& group = ronde::api::group_of_thread();
    if (!status.ok() && group.open() && group.first_error.ok()) group.first_error = status;
    return status;
  });
}
