// When a connection's other host counts as silent: what was sent to it is repeated, and not acknowledged, for long. (An
// idle connection is watched by the kernel's keepalive, see set_silent_limit.) A stopped process is not silent: its
// kernel answers. What is repeated is repeated ever more rarely, so a link that comes back for a short while may go
// unnoticed: then the host is asked in another way (host_probe.h), and an answer counts like an acknowledgement.
#pragma once

#include <algorithm>

#include "base/deadline.h"
#include "base/socket.h"

namespace ronde {

class SilenceClock {
 public:
  static constexpr Milliseconds kCheckEvery{1'000};
  static constexpr Milliseconds kAskAfter{2'000};  // in another way

  explicit SilenceClock(Milliseconds limit) : limit_(limit) {}

  // About each kCheckEvery, while something is on its way. True: silent for too long.
  bool observe(Delivery delivery, Time now) {
    // A look that comes late: this process did not run, and cannot tell what happened meanwhile.
    const bool held_up = now - last_look_ > 2 * kCheckEvery;
    last_look_ = now;
    const bool repeated = delivery.state == Delivery::State::repeated;
    if (!repeated || held_up || acknowledged_ == Time()) acknowledged_ = now;
    // Between two looks an acknowledgement may have come, and something new be on its way.
    acknowledged_ = std::max(acknowledged_, now - delivery.since_last_sign);
    heard_ = std::max(heard_, acknowledged_);
    return repeated && (now - heard_ >= limit_ || now - acknowledged_ >= limit_with_answers());
  }
  [[nodiscard]] bool is_to_be_asked(Time now) const { return now - acknowledged_ >= kAskAfter; }
  void has_answered(Time now) { heard_ = now; }
  [[nodiscard]] std::chrono::seconds unacknowledged_for(Time now) const {
    return std::chrono::duration_cast<std::chrono::seconds>(now - acknowledged_);
  }

 private:
  // For a host that answers, but never on this connection: what lies between has lost it.
  [[nodiscard]] Milliseconds limit_with_answers() const { return 3 * limit_; }

  Milliseconds limit_;
  Time last_look_{};
  Time acknowledged_{};
  Time heard_{};  // of the host, in any way
};

}  // namespace ronde
