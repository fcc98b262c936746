// The worker thread of a process: runs the operations of host streams. An operation runs when it is the first of its
// stream and all earlier ones of its communicator have ended; all that can run progress together.
#pragma once

#include <condition_variable>
#include <deque>
#include <list>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "base/fd.h"
#include "base/status.h"
#include "runtime/operation.h"

namespace ronde {

class Communicator;
class Worker;

// An in-order queue of operations. Any thread; freed after synchronize().
class Stream {
 public:
  explicit Stream(Worker& worker) : worker_(worker) {}

  // Waits until all operations so far have ended; returns the first error not yet returned.
  Status synchronize();
  // Ok: nothing is left; rondeInProgress: something is.
  Status query();

 private:
  friend class Worker;
  struct Entry {
    Communicator* communicator;
    uint64_t place;  // among the queued operations of its communicator
    OperationArgs args;
  };

  Status take_error();

  // Guarded by the worker's mutex.
  Worker& worker_;
  std::deque<Entry> entries_;  // the first may be running
  bool running_ = false;
  Status error_;
};

class Worker {
 public:
  Worker() = default;
  // Stops the thread; operations that have not ended are given up.
  ~Worker();
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  // Any thread, but calls for one communicator one at a time. Starts the thread at first use.
  Status enqueue(Stream& stream, Communicator& communicator, const OperationArgs& args);
  // Waits until all queued operations of the communicator have ended.
  void wait_for(Communicator& communicator);

 private:
  friend class Stream;
  struct Running;

  Status start_thread();
  void run();
  void start_ready(std::list<Running>& running, std::unique_lock<std::mutex>& lock);
  void retire(std::list<Running>& running);
  void end_entry(Stream& stream, const Status& status);

  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Stream*> busy_;  // streams with entries
  bool stop_ = false;
  Fd wake_;  // an eventfd
  std::thread thread_;
};

}  // namespace ronde
