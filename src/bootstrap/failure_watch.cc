#include "bootstrap/failure_watch.h"

namespace ronde {

void FailureWatch::set(std::function<void(Status)> callback) {
  std::unique_lock lock(mutex_);
  if (cancelled_) return;
  callback_ = std::move(callback);
  deliver(lock);
}

void FailureWatch::fire(const Status& failure) {
  std::unique_lock lock(mutex_);
  if (failure_ || cancelled_) return;
  failure_ = failure;
  deliver(lock);
}

// The callback runs without the lock: it may take locks of its own, or call cancel().
void FailureWatch::deliver(std::unique_lock<std::mutex>& lock) {
  if (!failure_ || !callback_) return;
  const std::function<void(Status)> callback = std::exchange(callback_, nullptr);
  const Status failure = *failure_;
  calling_ = std::this_thread::get_id();
  lock.unlock();
  callback(failure);
  lock.lock();
  calling_ = {};
  returned_.notify_all();
}

void FailureWatch::cancel() {
  std::unique_lock lock(mutex_);
  cancelled_ = true;
  callback_ = nullptr;
  if (calling_ != std::this_thread::get_id()) returned_.wait(lock, [&] { return calling_ == std::thread::id(); });
}

}  // namespace ronde
