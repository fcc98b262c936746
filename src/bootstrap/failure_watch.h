// Hands the first failure to a callback, once, and can be called off for good. Any thread.
#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <optional>
#include <thread>

#include "base/status.h"

namespace ronde {

class FailureWatch {
 public:
  // Calls at once, on this thread, if a failure came before.
  void set(std::function<void(Status)> callback);
  // The first failure is kept and told; later ones are not.
  void fire(const Status& failure);
  // After it has returned the callback is not running and is not called any more (unless this is the callback itself).
  void cancel();

 private:
  void deliver(std::unique_lock<std::mutex>& lock);

  std::mutex mutex_;
  std::condition_variable returned_;
  std::function<void(Status)> callback_;
  std::optional<Status> failure_;
  std::thread::id calling_;  // the thread that is inside the callback
  bool cancelled_ = false;
};

}  // namespace ronde
