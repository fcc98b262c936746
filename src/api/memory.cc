// Memory of ronde.h: allocation, registration, windows.
#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "api/group.h"
#include "api/handles.h"

namespace ronde::api {
namespace {

Status check_buffer(const char* function, const void* begin, size_t bytes) {
  RONDE_TRY(not_null(begin, function, "buff"));
  if (bytes > 0) return {};
  return {rondeInvalidArgument, fmt::format("{}: size is 0", function)};
}

Status allocate(void** ptr, size_t size) {
  RONDE_TRY(check_not_forked("rondeMemAlloc"));
  RONDE_TRY(not_null(ptr, "rondeMemAlloc", "ptr"));
  if (size == 0) return {rondeInvalidArgument, "rondeMemAlloc: size is 0"};
  LibraryMemory& memory = process().library_memory();
  int64_t limit = 0;
  if (!memory.knows_limit()) {
    RONDE_ASSIGN(const Settings settings, Settings::from_environment());
    limit = settings.mem_limit_bytes;
  }
  RONDE_ASSIGN(*ptr, memory.allocate(size, limit));
  return {};
}

Status register_buffer(rondeComm_t comm, void* buff, size_t size, void** handle) {
  RONDE_TRY(check_ready(comm, "rondeCommRegister"));
  RONDE_TRY(not_null(handle, "rondeCommRegister", "handle"));
  RONDE_TRY(check_buffer("rondeCommRegister", buff, size));
  auto registration = std::make_unique<Registration>();
  auto held = process().library_memory().hold(buff, size);
  RONDE_TRY(said_by("rondeCommRegister", held.status()));
  registration->held = std::move(*held);
  *handle = registration.get();
  comm->registrations.push_back(std::move(registration));
  return {};
}

Status register_window(rondeComm_t comm, void* buff, size_t size, rondeWindow_t* win, int flags) {
  constexpr const char* kName = "rondeCommWindowRegister";
  RONDE_TRY(check_ready(comm, kName));
  RONDE_TRY(not_null(win, kName, "win"));
  RONDE_TRY(check_buffer(kName, buff, size));
  if ((flags & ~RONDE_WIN_COLL_SYMMETRIC) != 0) {
    return {rondeInvalidArgument,
            fmt::format("{}: winFlags are {}: RONDE_WIN_DEFAULT or RONDE_WIN_COLL_SYMMETRIC", kName, flags)};
  }
  if (group_of_thread().open()) return {rondeInvalidUsage, fmt::format("{}: a group is open", kName)};
  Communicator& communicator = *comm->communicator;
  RONDE_TRY(process().worker().wait_for(communicator));
  auto window = std::make_unique<rondeWindow>();
  RONDE_ASSIGN(window->buffers, PeerBuffers::make(process(), communicator, buff, size));
  *win = window.get();
  comm->windows.push_back(std::move(window));
  return {};
}

// Takes the object of a handle out of a communicator's list; false: it is not there.
template <typename Object>
bool take_out(std::vector<std::unique_ptr<Object>>& list, const void* handle) {
  return std::erase_if(list, [handle](const auto& one) { return one.get() == handle; }) > 0;
}

Status peer_pointer(rondeWindow_t window, size_t offset, int peer, const void** result) {
  constexpr const char* kName = "rondeGetPeerPointer";
  RONDE_TRY(check_not_forked(kName));
  RONDE_TRY(not_null(window, kName, "window"));
  RONDE_TRY(not_null(result, kName, "outPtr"));
  if (!is_object(window))
    return {rondeInvalidArgument, fmt::format("{}: window is not a window (was it deregistered?)", kName)};
  const PeerBuffers& buffers = *window->buffers;
  if (peer < 0 || peer >= buffers.nranks())
    return {rondeInvalidArgument, fmt::format("{}: peer {} is not one of 0 to {}", kName, peer, buffers.nranks() - 1)};
  if (offset >= buffers.bytes())
    return {rondeInvalidArgument,
            fmt::format("{}: offset {} is not below the size, {} bytes", kName, offset, buffers.bytes())};
  const std::byte* begin = buffers.of(peer);
  *result = begin != nullptr ? begin + offset : nullptr;
  return {};
}

}  // namespace
}  // namespace ronde::api

using ronde::Status;
using ronde::api::check_comm;
using ronde::api::guarded;
using ronde::api::said_by;

rondeResult_t rondeMemAlloc(void** ptr, size_t size) {
  return guarded([&] { return said_by("rondeMemAlloc", ronde::api::allocate(ptr, size)); });
}

rondeResult_t rondeMemFree(void* ptr) {
  return guarded([&]() -> Status {
    if (ptr == nullptr) return {};
    RONDE_TRY(ronde::api::check_not_forked("rondeMemFree"));
    return said_by("rondeMemFree", ronde::api::process().library_memory().free(ptr));
  });
}

rondeResult_t rondeCommRegister(const rondeComm_t comm, void* buff, size_t size, void** handle) {
  return guarded([&] { return ronde::api::register_buffer(comm, buff, size, handle); });
}

rondeResult_t rondeCommDeregister(const rondeComm_t comm, void* handle) {
  return guarded([&]() -> Status {
    RONDE_TRY(check_comm(comm, "rondeCommDeregister"));
    if (ronde::api::take_out(comm->registrations, handle)) return {};
    return {rondeInvalidArgument, "rondeCommDeregister: handle is not one of rondeCommRegister for this communicator"};
  });
}

rondeResult_t rondeCommWindowRegister(rondeComm_t comm, void* buff, size_t size, rondeWindow_t* win, int winFlags) {
  return guarded(
      [&] { return said_by("rondeCommWindowRegister", ronde::api::register_window(comm, buff, size, win, winFlags)); });
}

rondeResult_t rondeCommWindowDeregister(rondeComm_t comm, rondeWindow_t win) {
  return guarded([&]() -> Status {
    RONDE_TRY(check_comm(comm, "rondeCommWindowDeregister"));
    if (win == nullptr || ronde::api::take_out(comm->windows, win)) return {};
    return {rondeInvalidArgument, "rondeCommWindowDeregister: win is not a window of this communicator"};
  });
}

rondeResult_t rondeGetPeerPointer(rondeWindow_t window, size_t offset, int peer, const void** outPtr) {
  return guarded([&] { return ronde::api::peer_pointer(window, offset, peer, outPtr); });
}
