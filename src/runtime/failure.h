// The first thing that went wrong with a communicator, for good. Set by any thread; asked on the path of every wait.
#pragma once

#include <functional>
#include <mutex>
#include <optional>
#include <set>
#include <thread>
#include <utility>

#include "base/deadline.h"
#include "base/doorbell.h"
#include "base/shared_word.h"
#include "base/status.h"
#include "runtime/life_log.h"

namespace ronde {

class FailureState {
 public:
  FailureState() = default;
  // It is noted there, too.
  explicit FailureState(LifeLog log) : log_(std::move(log)) {}

  // Any thread, never blocks for long. Only the first call has an effect; wakes the doorbell's owner. True if it was
  // the first.
  bool set(const Status& status) {
    {
      const std::scoped_lock lock(mutex_);
      if (!first_.ok()) return false;
      first_ = status;
      if (log_) log_->fail(status);
      flag_.set();
    }
    const std::scoped_lock lock(doorbell_mutex_);
    if (doorbell_ != nullptr) doorbell_->wake();
    if (heard_) heard_();
    return true;
  }

  // A rank whose process has ended.
  void lose(uint32_t rank) {
    const std::scoped_lock lock(mutex_);
    lost_.insert(rank);
  }
  [[nodiscard]] std::set<uint32_t> lost() const {
    const std::scoped_lock lock(mutex_);
    return lost_;
  }

  [[nodiscard]] bool is_set() const { return flag_.is_set(); }
  [[nodiscard]] const OnceFlag& flag() const { return flag_; }
  [[nodiscard]] Status first() const {
    const std::scoped_lock lock(mutex_);
    return first_;
  }

  // Blocks until it is set, but not for long: for who ran into something whose cause may be on its way from others.
  void wait_for_news() const {
    const Deadline end = Deadline::after(Milliseconds(300));
    while (!is_set() && !end.passed()) std::this_thread::sleep_for(Milliseconds(5));
  }

  // Whom set() wakes; null: nobody any more.
  void wakes(Doorbell* doorbell) {
    const std::scoped_lock lock(doorbell_mutex_);
    doorbell_ = doorbell;
  }
  // What set() calls, or this function if it is set already; null: nothing any more. It must not block, nor change whom
  // this object calls.
  void calls(std::function<void()> heard) {
    const std::scoped_lock lock(doorbell_mutex_);
    heard_ = std::move(heard);
    if (heard_ && is_set()) heard_();
  }

 private:
  OnceFlag flag_;
  mutable std::mutex mutex_;
  Status first_;
  std::optional<LifeLog> log_;
  std::set<uint32_t> lost_;
  std::mutex doorbell_mutex_;
  Doorbell* doorbell_ = nullptr;
  std::function<void()> heard_;
};

}  // namespace ronde
