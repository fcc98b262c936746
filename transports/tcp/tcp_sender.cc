#include "transports/tcp/tcp_sender.h"

#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include <cerrno>

namespace ronde {

TcpSender::TcpSender(std::vector<Fd> connections, size_t slice_bytes, std::string peer)
    : slice_bytes_(slice_bytes),
      peer_(std::move(peer)),
      staging_(std::make_unique_for_overwrite<std::byte[]>(memory_bytes())) {
  for (Fd& fd : connections) connections_.push_back({.fd = std::move(fd)});
}

std::byte* TcpSender::acquire() {
  if (full()) return nullptr;
  const auto base = reinterpret_cast<uintptr_t>(staging_.get());
  const auto aligned = (base + kCacheLine - 1) / kCacheLine * kCacheLine;
  return reinterpret_cast<std::byte*>(aligned) + (queued_ % kQueue) * slice_bytes_;
}

void TcpSender::commit(const SliceHead& head) { enqueue(head, acquire()); }

bool TcpSender::send_by_reference(const SliceHead& head, const void* payload) {
  if (full()) return false;
  enqueue(head, static_cast<const std::byte*>(payload));
  return true;
}

void TcpSender::enqueue(const SliceHead& head, const std::byte* payload) {
  entry(queued_) = {head, payload, false};
  ++queued_;
  advance();
}

void TcpSender::advance() {
  if (idle() || !broken_.ok()) return;
  for (Connection& connection : connections_) {
    while (broken_.ok() && take_next(connection) && send_some(connection)) {
    }
  }
}

// True if the connection has something to send.
bool TcpSender::take_next(Connection& connection) {
  if (connection.busy) return true;
  if (taken_ == queued_) return false;
  connection.busy = true;
  connection.entry = taken_++;
  connection.progress = 0;
  return true;
}

// One system call. False when the connection takes no more now.
bool TcpSender::send_some(Connection& connection) {
  Entry& current = entry(connection.entry);
  const size_t head_left = sizeof(SliceHead) - std::min(connection.progress, sizeof(SliceHead));
  const size_t payload_done = connection.progress - (sizeof(SliceHead) - head_left);
  auto* head = reinterpret_cast<std::byte*>(&current.head);
  iovec parts[2] = {{head + (sizeof(SliceHead) - head_left), head_left},
                    {const_cast<std::byte*>(current.payload) + payload_done, current.head.bytes - payload_done}};
  msghdr message{};
  message.msg_iov = parts;
  message.msg_iovlen = 2;
  const ssize_t sent = ::sendmsg(connection.fd.get(), &message, MSG_NOSIGNAL | MSG_DONTWAIT);
  if (sent < 0) {
    if (errno == EINTR) return true;
    if (errno != EAGAIN) {
      const Status cause = system_error(fmt::format("sending to {} failed", peer_), errno);
      broken_ = Status(rondePeerLost, cause.message());
    }
    return false;
  }
  connection.progress += static_cast<size_t>(sent);
  if (connection.progress == sizeof(SliceHead) + current.head.bytes) finish(connection);
  return true;
}

bool TcpSender::taken(uint32_t messages) {
  if (!idle()) return false;
  std::array<std::byte, 64> words;
  while (acknowledged_ != messages && broken_.ok()) {
    const ssize_t got = ::recv(connections_.front().fd.get(), words.data(), words.size(), MSG_DONTWAIT);
    if (got > 0) {
      acknowledged_ += static_cast<uint32_t>(got);
    } else if (got == 0) {
      broken_ = Status(rondePeerLost, fmt::format("{} has closed its connection", peer_));
    } else if (errno == EAGAIN) {
      break;
    } else if (errno != EINTR) {
      broken_ = Status(rondePeerLost, system_error(fmt::format("receiving from {} failed", peer_), errno).message());
    }
  }
  return acknowledged_ == messages;
}

void TcpSender::finish(Connection& connection) {
  entry(connection.entry).sent = true;
  connection.busy = false;
  while (completed_ != taken_ && entry(completed_).sent) ++completed_;
}

}  // namespace ronde
