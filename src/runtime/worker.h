// The worker thread of a process: runs what is put on host streams. An operation runs when it is the first of its
// stream and all earlier ones of its communicator have ended; all that can run progress together.
//
// Threads that put something on streams meet in one list without a lock, the inbox; all else belongs to the worker's
// thread. Its order is one for all: whatever an entry waits for (its stream, its communicator, a record) came in
// before it, so that entries of a process never wait for each other in a circle.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <thread>
#include <variant>
#include <vector>

#include "base/doorbell.h"
#include "base/status.h"
#include "base/wait_loop.h"
#include "base/waiting_room.h"
#include "runtime/host_thread.h"
#include "runtime/operation_task.h"
#include "runtime/stream.h"
#include "runtime/stream_entry.h"

namespace ronde {

class Communicator;
class Worker;

// A place among the queued operations of a communicator, for several that a thread of its own runs one after the other.
// What is called after it begins when it has ended.
class Turn {
 public:
  // Takes the next place, by the thread that uses the communicator. An error: no place is taken.
  static Result<std::shared_ptr<Turn>> take(Worker& worker, Communicator& communicator);
  ~Turn() { end(); }
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;

  // Waits until all that was queued before it has ended: from then on the communicator is the calling thread's. False:
  // `stop` was set before (who sets it calls look_again() then). Not on the worker's thread.
  bool await(const OnceFlag& stop);
  // Any thread.
  void look_again();
  // Also before its place has come, which then is passed over.
  void end();

 private:
  using Phase = StreamEntry::Hold::Phase;
  explicit Turn(Worker& worker) : worker_(worker) {}

  Worker& worker_;
  StreamEntry* entry_ = nullptr;  // the worker's
  std::shared_ptr<std::atomic<Phase>> phase_ = std::make_shared<std::atomic<Phase>>(Phase::waits);
  bool ended_ = false;
};

class Worker final : private Interruption {
 public:
  Worker();
  // Stops the thread; what has not ended is given up.
  ~Worker();
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  // Any thread, but calls for one communicator one at a time. Starts the thread at first use. On an error nothing is
  // queued.
  Status enqueue(Stream& stream, Communicator& communicator, OperationArgs args);
  // Waits until all queued operations of the communicator have ended. rondeInvalidUsage, without a wait: there are
  // some, and the caller is a function that a stream runs.
  Status wait_for(Communicator& communicator);
  // rondeInvalidUsage: the caller is a function that a stream runs.
  [[nodiscard]] Status check_may_wait() const;

 private:
  friend class Event;
  friend class Stream;
  friend class Turn;
  struct Running {
    StreamEntry* entry;
    std::unique_ptr<OperationTask> task;
  };

  // For all threads.
  Status put(Stream& stream, decltype(StreamEntry::what) what);
  Status start_thread();
  Status start_host_thread() { return host_.start(); }
  void hand_in(StreamEntry& entry);

  // For the worker's thread.
  [[nodiscard]] bool pending() const override;
  [[nodiscard]] Doorbell& doorbell() override { return *doorbell_; }
  void run();
  void take_in();
  void take_in(StreamEntry& entry);
  void start_ready();
  void start(StreamEntry& entry);
  void start_operation(StreamEntry& entry);
  void reach(EventRecord& record);
  void reach(StreamEntry& entry, StreamEntry::Hold& hold);
  void retire();
  [[nodiscard]] static bool is_next(StreamEntry& entry);
  void end(StreamEntry& entry, const Status& status);

  alignas(kCacheLine) std::atomic<StreamEntry*> inbox_{nullptr};
  SleepWord sleep_word_;
  OnceFlag started_;
  std::unique_ptr<Doorbell> doorbell_;  // there once it has started
  std::atomic<bool> stop_{false};
  WaitingRoom room_;
  std::mutex start_mutex_;
  std::thread thread_;
  HostThread host_;
  // The worker's thread only.
  EntryList<&StreamEntry::next> ready_;  // whose turn it is
  std::vector<Running> running_;
  std::vector<Waiter> waiters_;  // of running_, in its order
};

}  // namespace ronde
