// One rank's side of the agreement of calls: what it has begun, what it says when it has waited for long, and what it hears
// about whom it waits for. The judging is done where all ranks report (bootstrap/judge.h).
#pragma once

#include <mutex>
#include <optional>
#include <string>

#include "bootstrap/rendezvous.h"
#include "runtime/call_log.h"
#include "runtime/failure.h"

namespace ronde {

class Agreement {
 public:
  // Rendezvous and failure outlive this object.
  Agreement(Rendezvous& rendezvous, FailureState& failure, CallLog log);
  ~Agreement() = default;
  Agreement(const Agreement&) = delete;
  Agreement& operator=(const Agreement&) = delete;

  // Of the thread that drives the communicator.
  CallLog& log() { return log_; }

  // The operation that was begun last has waited for long. ask_others: a warning is due, or another rank's call differs.
  void waiting(const OperationArgs& args, uint32_t sequence, uint32_t digest, bool ask_others);
  // The operation of which waiting() told has ended.
  void resumed() { rendezvous_.resumed(); }
  // Whom that operation waits for in truth, as far as is known: "rank 1, which has not called it"; else `next`, the rank
  // that this one waits for directly.
  [[nodiscard]] std::string whom(uint32_t sequence, const std::string& next) const;

  // This rank has failed; the others are told why.
  void report(const Status& why) { rendezvous_.report(why); }
  // Says goodbye, and waits a little for it to arrive; safe to call twice.
  void leave();

 private:
  [[nodiscard]] Whereabouts whereabouts(uint32_t sequence) const;

  Rendezvous& rendezvous_;
  CallLog log_;
  bool left_ = false;
  mutable std::mutex mutex_;
  std::optional<LateNote> late_;  // guarded by it
};

}  // namespace ronde
