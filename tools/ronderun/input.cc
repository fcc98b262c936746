#include "ronderun/input.h"

#include <unistd.h>

#include <cerrno>

namespace ronde::launcher {

void InputForwarder::start() {
  active_ = true;
  wait();
}

void InputForwarder::stop() {
  reactor_.forget(0);
  active_ = false;
}

void InputForwarder::taken(size_t bytes) {
  under_way_ -= std::min(bytes, under_way_);
  wait();
}

void InputForwarder::wait() {
  if (!active_ || waiting_ || under_way_ >= kWindowBytes) return;
  waiting_ = true;
  if (reactor_.watch_input(0, [this] { read_some(); })) return;
  reactor_.call_at(Deadline::after(Milliseconds(0)), [this] { read_some(); });  // a file
}

void InputForwarder::read_some() {
  if (!active_) return;
  reactor_.forget(0);
  waiting_ = false;
  const ssize_t size = ::read(0, buffer_.data(), kWindowBytes - under_way_);
  if (size > 0) {
    under_way_ += static_cast<size_t>(size);
    send_(ByteView(buffer_).first(static_cast<size_t>(size)));
    wait();
  } else if (size < 0 && (errno == EINTR || errno == EAGAIN)) {
    wait();
  } else if (size < 0 && errno == EIO && tcgetpgrp(0) > 0 && tcgetpgrp(0) != getpgrp()) {
    // A job in the background has no right to the terminal now. Nothing tells when it gets it.
    waiting_ = true;
    reactor_.call_at(Deadline::after(kBackgroundPause), [this] {
      waiting_ = false;
      wait();
    });
  } else {
    active_ = false;
    send_({});
  }
}

}  // namespace ronde::launcher
