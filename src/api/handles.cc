#include "api/handles.h"

#include <fmt/format.h>

#include "base/crypto.h"
#include "transports/built_in.h"

namespace ronde::api {
namespace {

thread_local std::string thread_last_error;

}  // namespace

Process& process() {
  // OpenSSL's own exit handlers run in reverse order of registration: it must have started before this object, which
  // still needs it when it ends.
  static const bool crypto_started = [] {
    Nonce nonce{};
    return random_bytes(nonce).ok();
  }();
  static_cast<void>(crypto_started);
  static Process the_process(built_in_transports());
  return the_process;
}

rondeResult_t remember(const Status& status) {
  thread_last_error = status.message();
  return status.code();
}

const std::string& last_error_of_thread() { return thread_last_error; }

Status not_null(const void* pointer, const char* function, const char* argument) {
  if (pointer != nullptr) return {};
  return {rondeInvalidArgument, fmt::format("{}: {} is NULL", function, argument)};
}

Status check_comm(rondeComm_t comm, const char* function) {
  RONDE_TRY(not_null(comm, function, "comm"));
  if (comm->magic == rondeComm::kMagic) return {};
  return {rondeInvalidArgument, fmt::format("{}: comm is not a communicator (was it destroyed?)", function)};
}

Status check_stream(rondeStream_t stream, const char* function) {
  RONDE_TRY(not_null(stream, function, "stream"));
  if (stream->magic == rondeStream::kMagic) return {};
  return {rondeInvalidArgument, fmt::format("{}: stream is not a stream (was it destroyed?)", function)};
}

}  // namespace ronde::api
