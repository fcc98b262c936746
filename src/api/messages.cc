// rondeSend and rondeRecv.
#include <fmt/format.h>

#include "api/arguments.h"
#include "api/calls.h"
#include "api/group.h"
#include "runtime/group.h"

namespace ronde::api {
namespace {

Status send_or_receive(const char* function, PairMessage message, size_t count, rondeDataType_t type, rondeComm_t comm,
                       rondeStream_t stream) {
  RONDE_TRY(check_callable(comm, function));
  if (stream != nullptr) RONDE_TRY(check_stream(stream, function));
  const Communicator& communicator = *comm->communicator;
  RONDE_TRY(check_elements(function, type, count));
  if (message.peer < 0 || message.peer >= communicator.nranks())
    return {rondeInvalidArgument, fmt::format("{}: peer {} is not one of the ranks 0 to {}", function, message.peer,
                                              communicator.nranks() - 1)};
  const void* buffer = message.outgoing ? message.from : message.to;
  if (count > 0) RONDE_TRY(not_null(buffer, function, message.outgoing ? "sendbuff" : "recvbuff"));
  message.bytes = count * element_bytes(type);
  OperationArgs args = messages_of({message});
  if (!group_of_thread().open()) RONDE_TRY(check_own_messages(args, communicator.rank()));
  return start_call(std::move(args), comm, stream);
}

Status named_and_remembered(const char* function, const PairMessage& message, size_t count, rondeDataType_t type,
                            rondeComm_t comm, rondeStream_t stream) {
  return remembered_by_group(said_by(function, send_or_receive(function, message, count, type, comm, stream)));
}

}  // namespace
}  // namespace ronde::api

rondeResult_t rondeSend(const void* sendbuff, size_t count, rondeDataType_t datatype, int peer, rondeComm_t comm,
                        rondeStream_t stream) {
  return ronde::api::guarded([&] {
    const ronde::PairMessage message{peer, sendbuff, nullptr, 0, true};
    return ronde::api::named_and_remembered("rondeSend", message, count, datatype, comm, stream);
  });
}

rondeResult_t rondeRecv(void* recvbuff, size_t count, rondeDataType_t datatype, int peer, rondeComm_t comm,
                        rondeStream_t stream) {
  return ronde::api::guarded([&] {
    const ronde::PairMessage message{peer, nullptr, recvbuff, 0, false};
    return ronde::api::named_and_remembered("rondeRecv", message, count, datatype, comm, stream);
  });
}
