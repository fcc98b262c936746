// Streams and events: in-order queues of operations, and moments in them for which other streams wait. What is queued
// becomes progress in Worker.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>

#include "runtime/stream_entry.h"

namespace ronde {

class Event;
class Worker;

// Any thread. The worker outlives the work of it; freed after synchronize().
class Stream {
 public:
  explicit Stream(Worker& worker) : worker_(worker) {}
  // What a worker that has ended has left.
  ~Stream();
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  // What comes later waits until the last record of the event, as of now, is reached. Its streams are of the same
  // worker.
  Status wait_for(Event& event);
  // Calls the function on a thread of the library, in stream order; it does not throw.
  Status call(HostFunction function);
  // Waits until all that was put on it so far has ended; returns the first error not yet returned. rondeInvalidUsage,
  // without a wait: the caller is a function that a stream runs.
  Status synchronize();
  // Ok: nothing is left; rondeInProgress: something is. Else an error as above.
  Status query();

 private:
  friend class Worker;

  Status take_error();
  void note_error(const Status& status);

  Worker& worker_;
  std::atomic<uint64_t> issued_{0};
  alignas(kCacheLine) std::atomic<uint64_t> ended_{0};  // raised by the worker, as the last that it does with an entry
  std::atomic<bool> has_error_{false};
  std::mutex error_mutex_;
  Status error_;  // the first that was not returned
  // The worker's thread only.
  EntryList<&StreamEntry::next_of_stream> entries_;  // the first may be in progress; owned
  Status since_function_;                            // the first error since the last function
};

// Any thread. May go while streams wait for it.
class Event {
 public:
  explicit Event(Worker& worker) : worker_(worker) {}

  // The end of what was put on the stream so far.
  Status record(Stream& stream);
  // True: the last record is reached, or there was none.
  [[nodiscard]] bool reached() const;
  // Waits until the last record, as of now, is reached. rondeInvalidUsage as Stream::synchronize.
  Status synchronize();

 private:
  friend class Stream;
  [[nodiscard]] std::shared_ptr<EventRecord> last() const;

  Worker& worker_;
  mutable std::mutex mutex_;
  std::shared_ptr<EventRecord> last_;
};

}  // namespace ronde
