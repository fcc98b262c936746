// One thread's epoll with callbacks and timers. What is watched is level-triggered; callbacks may change everything,
// also the watch that called them.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <utility>

#include "base/deadline.h"
#include "base/fd.h"

namespace ronde::launcher {

class Reactor {
 public:
  using Handler = std::function<void()>;
  using TimerId = std::pair<Time, uint64_t>;

  Reactor();  // throws std::system_error: no more descriptors

  // Calls the handler while fd is readable (or at its end). False if fd cannot be waited for: a file, always ready.
  bool watch_input(int fd, Handler handler);
  bool watch_output(int fd, Handler handler);
  void forget(int fd);  // before fd is closed; no effect if it is not watched

  TimerId call_at(Deadline when, Handler handler);
  void cancel(TimerId timer) { timers_.erase(timer); }

  // Waits for events (at most until `limit`) and calls what is due.
  void run_once(Deadline limit = Deadline::never());

 private:
  struct Watch {
    int fd;
    Handler handler;
  };
  bool watch(int fd, uint32_t events, Handler handler);

  Fd epoll_;
  uint64_t last_id_ = 0;
  std::map<uint64_t, std::shared_ptr<Watch>> watches_;  // by a number that is never used again
  std::map<int, uint64_t> ids_;                         // of the watched descriptors
  std::map<TimerId, Handler> timers_;
};

}  // namespace ronde::launcher
