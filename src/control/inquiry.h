// What one rank concludes from the answers of the others about one call: who has left and is still waited for, who
// called something else, who is late. Only ranks that have waited for long ask, so nothing of this is on the path of an
// operation that goes well.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>

#include "base/deadline.h"
#include "control/messages.h"

namespace ronde {

class Inquiry {
 public:
  // own: the rank that asks, which waits in `call` and has begun collectives up to `begun`. asked: whose answers can be
  // expected.
  Inquiry(uint32_t own, CallNote call, uint32_t begun, std::set<uint32_t> asked, Time until);

  [[nodiscard]] const CallNote& call() const { return call_; }
  [[nodiscard]] Time until() const { return until_; }
  // The time in which this process did not run is nobody's silence.
  void extend(Time until) { until_ = until; }

  void answered(uint32_t rank, const Answer& answer);
  // In good order, after its call `begun`.
  void left(uint32_t rank, uint32_t begun);
  // All has been told that is known so far; answers may still come.
  void conclude() { concluded_ = true; }
  [[nodiscard]] bool concluded() const { return concluded_; }
  // Nothing more can come.
  [[nodiscard]] bool complete() const { return unanswered_.empty(); }

  // Ranks that have called it and answered.
  [[nodiscard]] std::set<uint32_t> callers() const;
  // Their calls differ: of this number or one before it.
  [[nodiscard]] bool disputed() const;
  // A failure of the whole communicator, if there is one; of collectives only. who: how a rank is named.
  [[nodiscard]] std::optional<Status> verdict(const std::function<std::string(uint32_t)>& who) const;
  // Whom the wait is for, as far as is known.
  [[nodiscard]] LateNote late() const;

 private:
  struct Place {
    uint32_t begun = 0;
    std::optional<CallNote> wait;
  };
  [[nodiscard]] std::vector<uint32_t> awaited_in(uint32_t rank, const CallNote& call) const;
  [[nodiscard]] bool is_met(uint32_t rank, const CallNote& call, uint32_t peer) const;
  [[nodiscard]] std::vector<RankWait> waits() const;

  const uint32_t own_;
  const CallNote call_;
  Time until_;
  bool concluded_ = false;
  std::set<uint32_t> unanswered_;
  std::map<uint32_t, CallNote> calls_;     // of this number, by rank
  std::map<uint32_t, Place> places_;       // of those that have answered, and the own one
  std::map<uint32_t, uint32_t> too_soon_;  // left before this number; the last that each had begun
};

// "rank 1 has left: it was finalized or destroyed after operation number 3, but rank 0 waits for it in AllReduce (...)
// number 4".
[[nodiscard]] Status left_too_early(const std::string& who, uint32_t begun, uint32_t waiter, const CallNote& call);

}  // namespace ronde
