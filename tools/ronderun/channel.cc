#include "ronderun/channel.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

namespace ronde::launcher {
namespace {

constexpr size_t kReadBytes = 256 << 10;
constexpr int kPipeBytes = 1 << 20;

void set_nonblocking(int fd) { fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK); }

}  // namespace

Channel::Channel(Reactor& reactor, Fd in, Fd out, Events events)
    : reactor_(reactor), in_(std::move(in)), out_(std::move(out)), events_(std::move(events)), buffer_(kReadBytes) {
  set_nonblocking(in_.get());
  set_nonblocking(out_.get());
  fcntl(in_.get(), F_SETPIPE_SZ, kPipeBytes);  // fewer wake-ups; where it is refused the size stays
  pause(false);
}

Channel::~Channel() { close(); }

void Channel::pause(bool paused) {
  paused_ = paused;
  if (!in_.valid()) return;
  if (paused) {
    reactor_.forget(in_.get());
  } else {
    reactor_.watch_input(in_.get(), [this] { read_some(); });
  }
}

void Channel::close() {
  if (in_.valid()) reactor_.forget(in_.get());
  if (out_.valid()) reactor_.forget(out_.get());
  in_.reset();
  out_.reset();
  queue_.clear();
}

void Channel::lost() {
  const bool news = in_.valid();
  close();
  if (news && events_.closed) events_.closed();
}

void Channel::read_some() {
  const ssize_t size = ::read(in_.get(), buffer_.data(), buffer_.size());
  if (size > 0) {
    events_.received(ByteView(buffer_).first(static_cast<size_t>(size)));
  } else if (size == 0 || (errno != EAGAIN && errno != EINTR)) {
    lost();
  }
}

void Channel::send(Bytes bytes) {
  if (!out_.valid() || bytes.empty()) return;
  queued_bytes_ += bytes.size();
  queue_.push_back(std::move(bytes));
  if (queued_bytes_ > kHighBytes) full_ = true;
  if (!writing_) write_some();
}

void Channel::write_some() {
  while (!queue_.empty()) {
    const auto& first = queue_.front();
    const ssize_t size = ::write(out_.get(), first.data() + sent_, first.size() - sent_);
    if (size < 0 && errno == EINTR) continue;
    if (size < 0 && errno != EAGAIN) {
      // What the other end has said before it went may still wait in the other pipe: reading finds the end.
      reactor_.forget(out_.get());
      out_.reset();
      queue_.clear();
      return;
    }
    if (size < 0) {
      if (!writing_) writing_ = reactor_.watch_output(out_.get(), [this] { write_some(); });
      return;
    }
    sent_ += static_cast<size_t>(size);
    queued_bytes_ -= static_cast<size_t>(size);
    if (sent_ == first.size()) {
      queue_.pop_front();
      sent_ = 0;
    }
  }
  if (writing_) reactor_.forget(out_.get());
  writing_ = false;
  if (full_) {
    full_ = false;
    if (events_.drained) events_.drained();
  }
}

}  // namespace ronde::launcher
