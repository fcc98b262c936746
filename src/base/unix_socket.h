// Abstract Unix sockets that carry bytes and descriptors. Abstract: no file is left behind, and they work across mount,
// user and host name namespaces. All sockets are non-blocking and close-on-exec.
#pragma once

#include <span>
#include <string>

#include "base/fd.h"
#include "base/status.h"
#include "base/wire.h"

namespace ronde {

// Listens under a name without its leading NUL. Where it fails errno says why, too.
Result<Fd> listen_abstract(const std::string& name, int backlog);

enum class ConnectOutcome { connected, busy, refused };  // busy: the backlog is full, try again

// Connects at once or not at all: an abstract name is either listened to in this network namespace, or not. refused:
// errno says why.
ConnectOutcome connect_abstract(const std::string& name, Fd& socket);

// True if the process at the other end belongs to this process's user.
bool same_user(int socket);

inline constexpr size_t kMostDescriptors = 4;  // with one message

// Sends the bytes with the descriptors (at most kMostDescriptors) attached, all or nothing; false with errno otherwise.
bool send_with_descriptors(int socket, ByteView bytes, std::span<const int> descriptors);

// refused: closed, other size, other descriptors. full: they came, and this process may not have so many; they are
// lost.
enum class ReceiveOutcome { received, not_yet, refused, full };

// Receives exactly `bytes.size()` bytes and the descriptors that came with them; the last `optional` of them need not
// come.
ReceiveOutcome receive_with_descriptors(int socket, std::span<std::byte> bytes, std::span<Fd> descriptors,
                                        size_t optional = 0);

}  // namespace ronde
