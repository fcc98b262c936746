// Where threads wait for what another thread raises. Who raises pays one load unless somebody waits, and wakes only
// those whose wait is over.
#pragma once

#include <condition_variable>
#include <list>
#include <mutex>

#include "base/shared_word.h"

namespace ronde {

class WaitingRoom {
 public:
  // Any thread. condition: looks at words with observe_raised; once true it stays so. It is also asked by who raises.
  // No limit: for waits that are the user's own.
  template <typename Condition>
  void wait_until(const Condition& condition) {
    if (condition()) return;
    Sleeper sleeper{&condition, [](const void* one) { return (*static_cast<const Condition*>(one))(); }, false, {}};
    std::list<Sleeper*> entry(1, &sleeper);
    std::unique_lock lock(mutex_);
    enter_sleep(count_);
    if (!condition()) {
      sleepers_.splice(sleepers_.end(), entry);
      sleeper.wake.wait(lock, [&sleeper] { return sleeper.woken; });
    }
    leave_sleep(count_);
  }

  // After raise(). What was raised may be gone by now: the room outlives it.
  void tell() {
    if (!anybody_sleeps(count_)) return;
    // Who has entered but does not sleep yet holds the mutex.
    const std::scoped_lock lock(mutex_);
    sleepers_.remove_if([](Sleeper* sleeper) {
      if (!sleeper->holds(sleeper->condition)) return false;
      sleeper->woken = true;
      sleeper->wake.notify_one();  // under the mutex: it goes with its thread
      return true;
    });
  }

 private:
  struct Sleeper {
    const void* condition;
    bool (*holds)(const void*);
    bool woken;
    std::condition_variable wake;
  };

  SleeperCount count_;
  std::mutex mutex_;
  std::list<Sleeper*> sleepers_;
};

}  // namespace ronde
