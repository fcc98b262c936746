#include "bootstrap/connection.h"

#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include <cerrno>

#include "base/retry.h"

namespace ronde {
namespace {

constexpr size_t kReadBytes = 64 << 10;
constexpr int kReadsAtOnce = 16;  // then others get their turn

// The parts of a frame that are still to be sent.
int unsent_parts(const Frame& frame, size_t sent, std::array<iovec, 3>& parts) {
  int count = 0;
  for (const ByteView part : {ByteView(frame.head), ByteView(frame.message->bytes), ByteView(frame.mac)}) {
    const size_t skipped = std::min(sent, part.size());
    sent -= skipped;
    const ByteView rest = part.subspan(skipped);
    if (!rest.empty()) parts[static_cast<size_t>(count++)] = {const_cast<std::byte*>(rest.data()), rest.size()};
  }
  return count;
}

size_t frame_bytes(const Frame& frame) { return frame.head.size() + frame.message->bytes.size() + frame.mac.size(); }

Status ended(int error_number) {
  switch (error_number) {
    case ETIMEDOUT:
    case EHOSTUNREACH:
    case ENETUNREACH:
    case EHOSTDOWN:
    case ENETDOWN: return {rondePeerUnreachable, system_error("is silent", error_number).message()};
    case ECONNRESET:
    case EPIPE: return {rondePeerLost, "ended without saying goodbye (connection reset)"};
    default: return {rondePeerLost, system_error("is lost", error_number).message()};
  }
}

}  // namespace

Connection::Connection(ProvedStream stream, Direction sends, size_t most_received_bytes,
                       std::chrono::seconds silent_limit)
    : fd_(std::move(stream.fd)),
      peer_(peer_text(fd_.get())),
      sealer_(stream.session_key, sends),
      opener_(stream.session_key, sends == Direction::to_server ? Direction::to_client : Direction::to_server,
              most_received_bytes),
      silence_(silent_limit) {
  set_silent_limit(fd_.get(), silent_limit);
}

void Connection::send(SharedMessage message) {
  if (!sending_broken_) unsent_.push_back(sealer_.seal(std::move(message)));
}

void Connection::flush(Time now) {
  if (!unsent_.empty() && check_at_ == Time::max()) check_at_ = now + SilenceClock::kCheckEvery;
  while (!unsent_.empty()) {
    std::array<iovec, 3> parts{};
    msghdr message{};
    message.msg_iov = parts.data();
    message.msg_iovlen = static_cast<size_t>(unsent_parts(unsent_.front(), sent_of_first_, parts));
    const ssize_t sent = retry_interrupted([&] { return ::sendmsg(fd_.get(), &message, MSG_NOSIGNAL); });
    if (sent < 0) {
      if (errno == EAGAIN || errno == EWOULDBLOCK) return;
      sending_broken_ = true;
      unsent_.clear();
      return;
    }
    sent_of_first_ += static_cast<size_t>(sent);
    if (sent_of_first_ < frame_bytes(unsent_.front())) continue;
    unsent_.pop_front();
    sent_of_first_ = 0;
  }
}

std::optional<Status> Connection::check(Time now) {
  if (now < check_at_) return std::nullopt;
  const Delivery delivery = delivery_of(fd_.get());
  check_at_ = delivery.state == Delivery::State::done ? Time::max() : now + SilenceClock::kCheckEvery;
  if (probe_ && probe_->answered()) silence_.has_answered(now);
  const bool silent = silence_.observe(delivery, now);
  if (!silence_.is_to_be_asked(now)) {
    probe_.reset();
  } else if (!probe_) {
    if (const auto address = peer_address(fd_.get())) probe_.emplace(*address).answered();
  }
  if (!silent) return std::nullopt;
  return Status(rondePeerUnreachable,
                fmt::format("is silent: its host has not acknowledged anything for {} s (connection to {})",
                            silence_.unacknowledged_for(now).count(), peer_));
}

void Connection::finish_sending() { ::shutdown(fd_.get(), SHUT_WR); }

std::optional<Status> Connection::receive(std::vector<Bytes>& messages) {
  std::array<std::byte, kReadBytes> buffer;  // not zeroed
  for (int i = 0; i < kReadsAtOnce; ++i) {
    const ssize_t got = retry_interrupted([&] { return ::recv(fd_.get(), buffer.data(), buffer.size(), 0); });
    if (got == 0) return Status(rondePeerLost, "ended without saying goodbye");
    if (got < 0) {
      if (errno == EAGAIN || errno == EWOULDBLOCK) return std::nullopt;
      return ended(errno);
    }
    if (!opener_.feed(ByteView(buffer).first(static_cast<size_t>(got)), messages))
      return Status(rondePeerLost, fmt::format("is cut off: {}", opener_.problem()));
  }
  return std::nullopt;
}

void Connection::drain() {
  std::array<std::byte, 4096> buffer;
  while (retry_interrupted([&] { return ::recv(fd_.get(), buffer.data(), buffer.size(), 0); }) > 0) {
  }
}

}  // namespace ronde
