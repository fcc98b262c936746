#include "transports/tcp/tcp_receiver.h"

#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include <algorithm>
#include <cerrno>

namespace ronde {
namespace {

// True if head stands for a slice that comes after the expected one: it waits on its connection.
bool comes_later(const SliceHead& head, const SliceHead& expected) {
  if (head.sequence != expected.sequence) return reached(head.sequence, expected.sequence);
  return head.digest == expected.digest && head.slice > expected.slice;
}

}  // namespace

TcpReceiver::TcpReceiver(std::vector<Fd> connections, size_t slice_bytes, std::string peer)
    : peer_(std::move(peer)),
      staging_bytes_(slice_bytes + kCacheLine),
      staging_(std::make_unique_for_overwrite<std::byte[]>(staging_bytes_)) {
  for (Fd& fd : connections) connections_.push_back({.fd = std::move(fd)});
  const auto base = reinterpret_cast<uintptr_t>(staging_.get());
  staging_aligned_ = reinterpret_cast<std::byte*>((base + kCacheLine - 1) / kCacheLine * kCacheLine);
}

Arrival TcpReceiver::receive(const SliceHead& expected, const std::byte** payload) {
  if (!staged_) {
    const Arrival arrival = receive_into(expected, staging_aligned_);
    if (arrival != Arrival::here) return arrival;
    staged_ = true;
  }
  *payload = staging_aligned_;
  return Arrival::here;
}

Arrival TcpReceiver::receive_into(const SliceHead& expected, void* payload) {
  if (!broken_.ok()) return Arrival::broken;
  for (Connection& connection : connections_) {
    if (read_into(connection, expected, static_cast<std::byte*>(payload))) {
      connection.head_bytes = connection.payload_bytes = 0;
      return Arrival::here;
    }
  }
  return judge(expected);
}

// Reads what this connection has of the expected slice; true when all of it has come.
bool TcpReceiver::read_into(Connection& connection, const SliceHead& expected, std::byte* payload) {
  // With one connection only the expected slice can come next, so that head and payload are read in one call: if the
  // head is another one after all, the operation ends with an error, and no more than the slice's place was written.
  // With several, the head decides first.
  const bool read_ahead = connections_.size() == 1;
  for (;;) {
    const bool known = connection.head_complete();
    if (connection.ended || (known && !(connection.head == expected))) return false;
    if (known && connection.payload_bytes == expected.bytes) return true;
    const size_t room = known || read_ahead ? expected.bytes - connection.payload_bytes : 0;
    if (!read(connection, payload + connection.payload_bytes, room)) return false;
  }
}

// One system call. False when nothing more is here now.
bool TcpReceiver::read(Connection& connection, std::byte* payload, size_t payload_room) {
  const size_t head_left = sizeof(SliceHead) - connection.head_bytes;
  auto* head = reinterpret_cast<std::byte*>(&connection.head);
  iovec parts[2] = {{head + connection.head_bytes, head_left}, {payload, payload_room}};
  msghdr message{};
  message.msg_iov = parts;
  message.msg_iovlen = 2;
  const ssize_t received = ::recvmsg(connection.fd.get(), &message, MSG_DONTWAIT);
  if (received < 0) {
    if (errno == EINTR) return true;
    if (errno != EAGAIN) {
      broken_ = Status(rondePeerLost, system_error(fmt::format("receiving from {} failed", peer_), errno).message());
    }
    return false;
  }
  if (received == 0) {
    connection.ended = true;
    return false;
  }
  const size_t to_head = std::min(static_cast<size_t>(received), head_left);
  connection.head_bytes += to_head;
  connection.payload_bytes += static_cast<size_t>(received) - to_head;
  return true;
}

// One byte on the way back. A link that is broken shows it when something is received.
bool TcpReceiver::acknowledge() {
  constexpr std::byte kTaken{1};
  for (;;) {
    if (::send(connections_.front().fd.get(), &kTaken, 1, MSG_NOSIGNAL | MSG_DONTWAIT) == 1) return true;
    if (errno != EINTR) return errno != EAGAIN;
  }
}

// The expected slice is not complete: will it be?
Arrival TcpReceiver::judge(const SliceHead& expected) {
  if (!broken_.ok()) return Arrival::broken;
  size_t later = 0;
  size_t ended = 0;
  for (const Connection& connection : connections_) {
    ended += connection.ended;
    if (!connection.head_complete() || connection.head == expected) continue;
    unexpected_ = connection.head;
    if (connections_.size() == 1 || !comes_later(connection.head, expected)) return Arrival::unexpected;
    ++later;
  }
  if (later + ended < connections_.size()) return Arrival::none;
  if (ended == 0) return Arrival::unexpected;
  broken_ = Status(rondePeerLost, fmt::format("{} has closed its connection", peer_));
  return Arrival::broken;
}

}  // namespace ronde
