#include "base/unix_socket.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cassert>
#include <cerrno>
#include <cstddef>
#include <cstring>

#include "base/retry.h"

namespace ronde {
namespace {

constexpr size_t kMostReceived = kMostDescriptors + 1;  // one too many is seen; the kernel closes what is more

struct Address {
  sockaddr_un system{};
  socklen_t size = 0;
};

Address abstract_address(const std::string& name) {
  Address address;
  address.system.sun_family = AF_UNIX;
  const size_t length = std::min(name.size(), sizeof address.system.sun_path - 1);
  std::memcpy(address.system.sun_path + 1, name.data(), length);
  address.size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + length);
  return address;
}

Fd unix_socket() {
  return Fd::make([] { return ::socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0); });
}

}  // namespace

Result<Fd> listen_abstract(const std::string& name, int backlog) {
  Fd socket = unix_socket();
  if (!socket.valid()) {
    const int error = errno;
    Status failure = system_error("cannot make a Unix socket", error);
    errno = error;
    return failure;
  }
  const Address address = abstract_address(name);
  if (::bind(socket.get(), reinterpret_cast<const sockaddr*>(&address.system), address.size) != 0 ||
      ::listen(socket.get(), backlog) != 0) {
    const int error = errno;
    Status failure = system_error("cannot listen on a Unix socket", error);
    socket.reset();
    errno = error;
    return failure;
  }
  return socket;
}

ConnectOutcome connect_abstract(const std::string& name, Fd& socket) {
  Fd attempt = unix_socket();
  if (!attempt.valid()) return ConnectOutcome::refused;
  const Address address = abstract_address(name);
  // Non-blocking on a Unix socket: it connects at once, and cannot be interrupted half-way.
  const int result = retry_interrupted(
      [&] { return ::connect(attempt.get(), reinterpret_cast<const sockaddr*>(&address.system), address.size); });
  if (result != 0) {
    const int error = errno;
    attempt.reset();
    errno = error;
    return error == EAGAIN ? ConnectOutcome::busy : ConnectOutcome::refused;
  }
  socket = std::move(attempt);
  return ConnectOutcome::connected;
}

bool same_user(int socket) {
  ucred peer{};
  socklen_t size = sizeof peer;
  return getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 && peer.uid == geteuid();
}

bool send_with_descriptors(int socket, ByteView bytes, std::span<const int> descriptors) {
  assert(descriptors.size() <= kMostDescriptors);
  iovec part{const_cast<std::byte*>(bytes.data()), bytes.size()};
  alignas(cmsghdr) char control[CMSG_SPACE(kMostDescriptors * sizeof(int))] = {};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = CMSG_SPACE(descriptors.size_bytes());
  cmsghdr* header = CMSG_FIRSTHDR(&message);
  header->cmsg_level = SOL_SOCKET;
  header->cmsg_type = SCM_RIGHTS;
  header->cmsg_len = CMSG_LEN(descriptors.size_bytes());
  std::memcpy(CMSG_DATA(header), descriptors.data(), descriptors.size_bytes());
  const ssize_t sent = retry_interrupted([&] { return ::sendmsg(socket, &message, MSG_NOSIGNAL); });
  return sent == static_cast<ssize_t>(bytes.size());
}

ReceiveOutcome receive_with_descriptors(int socket, std::span<std::byte> bytes, std::span<Fd> descriptors,
                                        size_t optional) {
  iovec part{bytes.data(), bytes.size()};
  alignas(cmsghdr) char control[CMSG_SPACE(kMostReceived * sizeof(int))] = {};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  std::array<Fd, kMostReceived> owned;  // outlives the section: those that are too many are closed after it
  size_t found = 0;
  ssize_t received = 0;
  {
    const fork_guard::Section section;
    received = ::recvmsg(socket, &message, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
    for (cmsghdr* header = CMSG_FIRSTHDR(&message); received >= 0 && header != nullptr;
         header = CMSG_NXTHDR(&message, header)) {
      if (header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS) continue;
      const size_t count = (header->cmsg_len - CMSG_LEN(0)) / sizeof(int);
      for (size_t i = 0; i < count && found < owned.size(); ++i) {
        int fd = -1;
        std::memcpy(&fd, CMSG_DATA(header) + i * sizeof fd, sizeof fd);
        owned[found++] = Fd::made_in(section, fd);
      }
    }
  }
  if (received < 0 && errno == EAGAIN) return ReceiveOutcome::not_yet;
  // The kernel drops descriptors that find no place, without an error; others have numbers that cannot be registered.
  const std::span<Fd> came = std::span(owned).first(found);
  const bool dropped = received >= 0 && (message.msg_flags & MSG_CTRUNC) != 0 && found < kMostReceived;
  if (dropped || !std::all_of(came.begin(), came.end(), [](const Fd& fd) { return fd.valid(); }))
    return ReceiveOutcome::full;
  const bool enough = found + optional >= descriptors.size() && found <= descriptors.size();
  const bool complete = received == static_cast<ssize_t>(bytes.size()) && enough;
  if (!complete) return ReceiveOutcome::refused;
  std::move(came.begin(), came.end(), descriptors.begin());
  return ReceiveOutcome::received;
}

}  // namespace ronde
