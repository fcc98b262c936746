// Where threads wait for what another thread raises. Who raises pays one load unless somebody waits; only then is
// there a lock.
#pragma once

#include <condition_variable>
#include <mutex>

#include "base/shared_word.h"

namespace ronde {

class WaitingRoom {
 public:
  // Any thread. condition: looks at words with observe_raised; true: go on. No limit: for waits that are the user's
  // own.
  template <typename Condition>
  void wait_until(Condition condition) {
    if (condition()) return;
    std::unique_lock lock(mutex_);
    enter_sleep(sleepers_);
    changed_.wait(lock, condition);
    leave_sleep(sleepers_);
  }

  // After raise(). What was raised may be gone by now: the room outlives it.
  void tell() {
    if (!anybody_sleeps(sleepers_)) return;
    // Who has entered but does not sleep yet holds the mutex.
    { const std::scoped_lock lock(mutex_); }
    changed_.notify_all();
  }

 private:
  SleeperCount sleepers_;
  std::mutex mutex_;
  std::condition_variable changed_;
};

}  // namespace ronde
