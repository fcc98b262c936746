// What the opaque handles of ronde.h point to, and the one Process object.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "runtime/communicator.h"
#include "runtime/group.h"
#include "runtime/peer_buffers.h"
#include "runtime/process.h"
#include "runtime/start_up.h"
#include "runtime/worker.h"

namespace ronde::api {

// What a handle of rondeCommRegister points to.
struct Registration {
  std::shared_ptr<const void> held;  // library memory; null for any other
};

}  // namespace ronde::api

struct rondeWindow {
  static constexpr unsigned kMagic = 0x57696e64;
  unsigned magic = kMagic;
  std::unique_ptr<ronde::PeerBuffers> buffers;
  ~rondeWindow() { magic = 0; }
};

struct rondeComm {
  static constexpr unsigned kMagic = 0x436f6d6d;
  unsigned magic = kMagic;
  std::unique_ptr<ronde::Communicator> communicator;  // null while it starts, or if it could not
  std::unique_ptr<ronde::StartUp> start;              // null where init has waited for the communicator
  // Of non-blocking functions that make this rank no communicator, but need its part; by the thread that uses it.
  std::vector<std::unique_ptr<ronde::StartUp>> other_starts;
  // By the thread that uses it: what goes with it at the latest.
  std::vector<std::unique_ptr<ronde::api::Registration>> registrations;
  std::vector<std::unique_ptr<rondeWindow>> windows;
  std::optional<ronde::UniqueId> grow_id;  // made on this rank for the next grow; by the thread that uses it
  ~rondeComm() { magic = 0; }

  // Any thread. Ok: the communicator is there; rondeInProgress, or why it could not be made.
  ronde::Status ready() {
    if (ready_.is_set()) return {};
    const std::scoped_lock lock(mutex_);
    if (!communicator) {
      RONDE_TRY(start->status());
      communicator = start->take();
    }
    ready_.set();
    return {};
  }

 private:
  std::mutex mutex_;
  ronde::OnceFlag ready_;
};

struct rondeStream {
  static constexpr unsigned kMagic = 0x5374726d;
  explicit rondeStream(ronde::Worker& worker) : stream(worker) {}
  unsigned magic = kMagic;
  ronde::Stream stream;
  ~rondeStream() { magic = 0; }
};

struct rondeEvent {
  static constexpr unsigned kMagic = 0x45766e74;
  explicit rondeEvent(ronde::Worker& worker) : event(worker) {}
  unsigned magic = kMagic;
  ronde::Event event;
  ~rondeEvent() { magic = 0; }
};

namespace ronde::api {

// Made at the first call that needs it, ended when the library is unloaded or the process exits.
Process& process();

// Remembers the error for rondeGetLastError(NULL) of this thread; returns its code.
rondeResult_t remember(const Status& status);
// The same for a text that fits without allocation.
rondeResult_t remember_plain(rondeResult_t code, std::string_view message) noexcept;
const std::string& last_error_of_thread();

// Runs the body of an API function: what it throws (the standard library's out of memory) becomes an error code.
template <typename Body>
rondeResult_t guarded(Body body) noexcept {
  try {
    const Status status = body();
    return status.ok() ? rondeSuccess : remember(status);
  } catch (const std::bad_alloc&) {
    return remember_plain(rondeSystemError, "out of memory");
  } catch (...) {
    return remember_plain(rondeInternalError, "an exception of the standard library; a fault of Ronde");
  }
}

// The same error with the function's name before its text, if it is one of this call alone whose text does not begin
// with a function's name.
Status with_name(const char* function, const Status& status);
inline Status said_by(const char* function, Status status) {
  return status.ok() ? std::move(status) : with_name(function, status);
}

// rondeInvalidUsage in a process that was forked from one that used the library.
Status check_not_forked(const char* function);
Status null_argument(const char* function, const char* argument);
inline Status not_null(const void* pointer, const char* function, const char* argument) {
  return pointer != nullptr ? Status() : null_argument(function, argument);
}
// Whether a handle is what it says it is: also of one that was destroyed, and of small numbers, which CUDA has as
// streams.
template <typename Object>
bool is_object(const Object* handle) {
  const auto address = reinterpret_cast<uintptr_t>(handle);
  return address >= 4096 && address % alignof(Object) == 0 && handle->magic == Object::kMagic;
}
Status check_comm(rondeComm_t comm, const char* function);
// The same, and the communicator is ready; rondeInProgress, or why its start has failed, if it is not.
Status check_ready(rondeComm_t comm, const char* function);
Status check_stream(rondeStream_t stream, const char* function);  // NULL is an error here
Status check_event(rondeEvent_t event, const char* function);

}  // namespace ronde::api
