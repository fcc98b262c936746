// One rank's side of the agreement of calls: what it has begun, what it says when it has waited for long, and what it hears
// about whom it waits for. The judging is done by the rank that asks the others (control/inquiry.h).
#pragma once

#include <mutex>
#include <optional>
#include <string>

#include "control/control.h"
#include "runtime/call_log.h"
#include "runtime/failure.h"

namespace ronde {

class Agreement {
 public:
  // Control and failure outlive this object.
  Agreement(Control& control, FailureState& failure, CallLog log);
  ~Agreement() = default;
  Agreement(const Agreement&) = delete;
  Agreement& operator=(const Agreement&) = delete;

  // Of the thread that drives the communicator.
  CallLog& log() { return log_; }

  // The operation that was begun last has waited for long.
  void waiting(const OperationArgs& args, uint32_t sequence, uint32_t digest, WaitReason reason);
  // The operation of which waiting() told has ended.
  void resumed() { control_.resumed(); }
  // Whom that operation waits for in truth, as far as is known: "rank 1, which has not called it"; else `next`, the rank
  // that this one waits for directly.
  [[nodiscard]] std::string whom(uint32_t sequence, const std::string& next) const;

  // This rank has failed; the others are told why.
  void report(const Status& why) { control_.report(why); }
  // Says goodbye, and waits a little for it to arrive; safe to call twice.
  void leave();

 private:
  [[nodiscard]] Whereabouts whereabouts(uint32_t sequence) const;

  Control& control_;
  CallLog log_;
  bool left_ = false;
  mutable std::mutex mutex_;
  std::optional<LateNote> late_;  // guarded by it
};

}  // namespace ronde
