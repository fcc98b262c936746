// Bytes both ways over two pipe ends, without blocking: queued on the way out, handed over as they come on the way in.
// No protocol; reports what a pipe tells.
#pragma once

#include <deque>
#include <functional>

#include "base/fd.h"
#include "base/wire.h"
#include "ronderun/reactor.h"

namespace ronde::launcher {

class Channel {
 public:
  struct Events {
    std::function<void(ByteView)> received;
    std::function<void()> closed;   // the other end is gone; once
    std::function<void()> drained;  // the queue is empty after it was full
  };
  static constexpr size_t kHighBytes = 1 << 20;

  // Sets both ends to non-blocking.
  Channel(Reactor& reactor, Fd in, Fd out, Events events);
  ~Channel();
  Channel(const Channel&) = delete;
  Channel& operator=(const Channel&) = delete;

  void send(Bytes bytes);                                     // after the other end is gone: dropped
  [[nodiscard]] bool full() const { return full_; }           // the queue is above kHighBytes: stop producing
  [[nodiscard]] bool idle() const { return queue_.empty(); }  // all sent, or the other end is gone
  [[nodiscard]] bool closed() const { return !in_.valid(); }
  void pause(bool paused);  // while paused nothing is read
  void close();             // does not call `closed`

 private:
  void read_some();
  void write_some();
  void lost();

  Reactor& reactor_;
  Fd in_;
  Fd out_;
  Events events_;
  std::deque<Bytes> queue_;
  size_t queued_bytes_ = 0;
  size_t sent_ = 0;  // of the first in the queue
  bool paused_ = false;
  bool writing_ = false;
  bool full_ = false;
  Bytes buffer_;
};

}  // namespace ronde::launcher
