#include "api/handles.h"

#include <fmt/format.h>

#include <new>

#include "base/crypto.h"
#include "base/fork_guard.h"
#include "base/open_file_limit.h"
#include "transports/built_in.h"

namespace ronde::api {
namespace {

thread_local std::string thread_last_error;

// A forked child has neither the threads nor the right to say goodbye for its parent: there the object is left as it
// is.
struct ProcessHolder {
  Process* process;
  ~ProcessHolder() {
    if (!fork_guard::in_forked_child()) delete process;
  }
};

}  // namespace

Process& process() {
  // OpenSSL's own exit handlers run in reverse order of registration: it must have started before this object, which
  // still needs it when it ends.
  static const bool crypto_started = [] {
    Nonce nonce{};
    return random_bytes(nonce).ok();
  }();
  static_cast<void>(crypto_started);
  static const bool fork_is_watched = fork_guard::watch() ? true : throw std::bad_alloc();
  static_cast<void>(fork_is_watched);
  static const bool limit_is_raised = (raise_open_file_limit(), true);
  static_cast<void>(limit_is_raised);
  static const ProcessHolder the_holder{new Process(built_in_transports(), BlackBox::given_by_launcher())};
  return *the_holder.process;
}

rondeResult_t remember(const Status& status) {
  if (status.code() != rondeInProgress) thread_last_error = status.message();  // to be in progress is no error
  return status.code();
}

rondeResult_t remember_plain(rondeResult_t code, std::string_view message) noexcept {
  try {
    thread_last_error = message;
  } catch (const std::bad_alloc&) {
    thread_last_error.clear();
  }
  return code;
}

const std::string& last_error_of_thread() { return thread_last_error; }

Status with_name(const char* function, const Status& status) {
  const bool of_all_ranks = status.code() >= rondePeerLost || status.code() == rondeRemoteError;
  if (status.code() == rondeInProgress || of_all_ranks || status.message().starts_with("ronde")) return status;
  return {status.code(), fmt::format("{}: {}", function, status.message())};
}

Status check_not_forked(const char* function) {
  if (!fork_guard::in_forked_child()) return {};
  return {rondeInvalidUsage,
          fmt::format("{}: this process was forked from one that used the library: communicators and "
                      "streams stay with the parent; fork before the first call, or exec",
                      function)};
}

Status null_argument(const char* function, const char* argument) {
  return {rondeInvalidArgument, fmt::format("{}: {} is NULL", function, argument)};
}

Status check_comm(rondeComm_t comm, const char* function) {
  RONDE_TRY(not_null(comm, function, "comm"));
  RONDE_TRY(check_not_forked(function));
  if (is_object(comm)) return {};
  return {rondeInvalidArgument, fmt::format("{}: comm is not a communicator (was it destroyed?)", function)};
}

Status check_ready(rondeComm_t comm, const char* function) {
  RONDE_TRY(check_comm(comm, function));
  const Status ready = comm->ready();
  return ready.ok() ? ready : Status(ready.code(), fmt::format("{}: {}", function, ready.message()));
}

Status check_stream(rondeStream_t stream, const char* function) {
  RONDE_TRY(not_null(stream, function, "stream"));
  RONDE_TRY(check_not_forked(function));
  if (is_object(stream)) return {};
  return {rondeInvalidArgument, fmt::format("{}: stream is not a stream (was it destroyed?)", function)};
}

Status check_event(rondeEvent_t event, const char* function) {
  RONDE_TRY(not_null(event, function, "event"));
  RONDE_TRY(check_not_forked(function));
  if (is_object(event)) return {};
  return {rondeInvalidArgument, fmt::format("{}: event is not an event (was it destroyed?)", function)};
}

}  // namespace ronde::api
