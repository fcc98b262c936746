// One rank's side of the agreement of calls: what it has begun, what it says when it has waited for long, and what it
// hears about whom it waits for. The judging is done by the rank that asks the others (control/inquiry.h).
#pragma once

#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "control/control.h"
#include "runtime/call_log.h"
#include "runtime/failure.h"

namespace ronde {

class Agreement {
 public:
  // Control and failure outlive this object.
  Agreement(Control& control, FailureState& failure, CallLog log, int own_rank);
  ~Agreement() = default;
  Agreement(const Agreement&) = delete;
  Agreement& operator=(const Agreement&) = delete;

  // Of the thread that drives the communicator.
  CallLog& log() { return log_; }

  // The operation that was begun last has waited for long.
  void waiting(const CallNote& call, WaitReason reason) { control_.waiting(call, reason); }
  // The wait of which waiting() told has ended.
  void resumed() { control_.resumed(); }
  // Whom that operation waits for in truth, as far as is known: "rank 1, which has not called it"; else `next`, the
  // rank that this one waits for directly.
  [[nodiscard]] std::string whom(bool numbered, uint32_t sequence, const std::string& next) const;
  // The first of the ranks in such a call that has left, as it is known since that time or longer, and its name.
  [[nodiscard]] std::optional<std::string> left_since(Time since, const CallNote& call) const;

  // This rank has failed; the others are told why.
  void report(const Status& why) { control_.report(why); }
  // Says goodbye, and waits a little for it to arrive; safe to call twice.
  void leave();

 private:
  [[nodiscard]] Whereabouts whereabouts(uint32_t sequence) const;

  Control& control_;
  CallLog log_;
  const uint32_t rank_;
  bool left_ = false;
  struct Departure {
    std::string who;
    Time heard_at;
  };
  mutable std::mutex mutex_;
  // Guarded by it.
  std::optional<LateNote> late_;
  std::map<uint32_t, Departure> departures_;  // of other ranks
};

}  // namespace ronde
