// One thread with an epoll that serves descriptors and timers: the service thread of a process. An object, not a
// static; tests make several. The thread starts with the first source and ends with the object.
#pragma once

#include <functional>
#include <memory>

#include "base/deadline.h"
#include "base/status.h"

namespace ronde {

// Something that the loop serves. Methods are called on the loop's thread only, one at a time over all sources, and
// must not block.
class EventSource {
 public:
  virtual ~EventSource() = default;
  // A descriptor to watch for input (an epoll descriptor when there are several). Constant for the life of the source.
  [[nodiscard]] virtual int descriptor() const = 0;
  // Called when the descriptor is readable, when the deadline has passed, and after poke(). Returns false when the
  // source has ended: the loop then lets go of it.
  virtual bool advance(Time now) = 0;
  [[nodiscard]] virtual Deadline next_deadline() const = 0;
};

class EventLoop {
 public:
  EventLoop();
  ~EventLoop();  // stops the thread, then lets go of all sources; their destructors may say goodbye
  EventLoop(const EventLoop&) = delete;
  EventLoop& operator=(const EventLoop&) = delete;

  // Any thread. The loop shares the source until advance() returns false or the loop ends.
  Status add(std::shared_ptr<EventSource> source);
  // Any thread: have advance() of this source called soon.
  void poke(const EventSource& source);
  // Any thread but the loop's own: after it has returned advance() of this source does not run and is not called again.
  void remove(const EventSource& source);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace ronde
