// Where a communicator is in its life on one rank, and what ended it, in its black box. Any thread.
#pragma once

#include <algorithm>
#include <chrono>
#include <memory>
#include <utility>

#include "base/deadline.h"
#include "base/status.h"
#include "runtime/black_box_layout.h"

namespace ronde {

class LifeLog {
 public:
  explicit LifeLog(std::shared_ptr<black_box::Area> area) : area_(std::move(area)) {}

  void enter(black_box::Phase phase) {
    black_box::Phase before = observe_unwatched(area_->phase);
    do {
      if (before == black_box::Phase::finalized) return;  // nothing follows
    } while (!replace_unwatched(area_->phase, before, phase));
    publish_unwatched(area_->phase_ns, std::chrono::nanoseconds(Clock::now().time_since_epoch()).count());
  }

  // Once.
  void fail(const Status& why) {
    const size_t length = std::min(why.message().size(), area_->failure_text.size() - 1);
    std::copy_n(why.message().begin(), length, area_->failure_text.begin());
    publish_unwatched(area_->failure, static_cast<uint32_t>(why.code()));
  }

 private:
  std::shared_ptr<black_box::Area> area_;
};

}  // namespace ronde
