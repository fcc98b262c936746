// The thread on which users' functions run, one after another, so that they delay other functions at most, never
// operations.
#pragma once

#include <functional>
#include <memory>
#include <thread>

#include "base/shared_word.h"
#include "base/status.h"
#include "runtime/stream_entry.h"

namespace ronde {

class HostThread {
 public:
  // give_back: called on the thread, with an entry whose function has run, not after stop().
  explicit HostThread(std::function<void(StreamEntry&)> give_back);
  ~HostThread() { stop(); }
  HostThread(const HostThread&) = delete;
  HostThread& operator=(const HostThread&) = delete;

  // Any thread; at first use.
  Status start();
  // After start(): runs the function of the entry, which stays the caller's.
  void run(StreamEntry& entry);
  // Functions that have not begun are not called. Waits 1 s at most for one that has, then leaves the thread to itself.
  void stop();
  // True in a function.
  [[nodiscard]] bool is_calling_thread() const;

 private:
  // Outlives a function that does not end.
  struct Shared;
  static void serve(const std::shared_ptr<Shared>& shared);

  std::shared_ptr<Shared> shared_;
  OnceFlag started_;
  std::thread thread_;
};

}  // namespace ronde
