#include "base/wait_loop.h"

#include <poll.h>
#include <sched.h>

#include <algorithm>
#include <vector>

namespace ronde {
namespace {

constexpr int kSleepCapMs = 100;
// A sleep that ended by its cap just when somebody published: how long the ring may still be on its way, from a thread
// that a busy machine does not let run.
constexpr int kRingInFlightMs = 500;
// Of a thread that has nothing to drive.
constexpr WaitPolicy kIdlePolicy{200, 100};

void count_lost_wakeup() { lost_wakeups().fetch_add(1, std::memory_order_relaxed); }

inline void pause_briefly() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

// Counts the looks that found nothing, and says when it is time to sleep.
class Patience {
 public:
  explicit Patience(WaitPolicy policy) : policy_(policy) {}
  void reset() { idle_ = 0; }
  // False: sleep.
  bool look_again() {
    if (idle_ < policy_.spins) {
      pause_briefly();
    } else if (idle_ < policy_.spins + policy_.yields) {
      sched_yield();
    } else {
      return false;
    }
    ++idle_;
    return true;
  }

 private:
  WaitPolicy policy_;
  int idle_ = 0;
};

// Since when nothing moves; the clock is asked only when a sleep comes.
class Stall {
 public:
  void reset() { known_ = false; }
  Time since(Time now) {
    if (!known_) since_ = now;
    known_ = true;
    return since_;
  }

 private:
  bool known_ = false;
  Time since_{};
};

// One pass over all unfinished tasks.
struct Pass {
  bool moved = false;
  bool ended = false;
  bool open = false;
};

Pass advance_all(std::span<Waiter> waiters) {
  Pass pass;
  for (Waiter& waiter : waiters) {
    if (waiter.done) continue;
    const Progress progress = waiter.task->advance();
    waiter.done = progress == Progress::done;
    pass.moved |= progress != Progress::blocked;
    pass.ended |= waiter.done;
    pass.open |= !waiter.done;
  }
  return pass;
}

bool is_pending(const Interruption* interruption) { return interruption != nullptr && interruption->pending(); }

// Sleeps on all doorbells. True: something rang.
bool sleep_on_all(std::span<const Waiter> waiters, Interruption* interruption, std::vector<pollfd>& fds,
                  int timeout_ms) {
  fds.clear();
  for (const Waiter& waiter : waiters) {
    if (!waiter.done) fds.push_back({waiter.doorbell->poll_fd(), POLLIN, 0});
  }
  if (interruption != nullptr) fds.push_back({interruption->doorbell().poll_fd(), POLLIN, 0});
  const bool rang = ::poll(fds.data(), fds.size(), timeout_ms) != 0;
  for (const Waiter& waiter : waiters) {
    if (!waiter.done) waiter.doorbell->drain();
  }
  if (interruption != nullptr) interruption->doorbell().drain();
  return rang;
}

// Waits for a ring that may be on its way, to tasks that have ended by now, too.
bool ring_comes(std::span<const Waiter> waiters, Interruption* interruption, std::vector<pollfd>& fds) {
  fds.clear();
  for (const Waiter& waiter : waiters) fds.push_back({waiter.doorbell->poll_fd(), POLLIN, 0});
  if (interruption != nullptr) fds.push_back({interruption->doorbell().poll_fd(), POLLIN, 0});
  return ::poll(fds.data(), fds.size(), kRingInFlightMs) != 0;
}

WaitPolicy calmest(std::span<const Waiter> waiters) {
  WaitPolicy policy{1 << 30, 1 << 30};
  for (const Waiter& waiter : waiters) {
    policy.spins = std::min(policy.spins, waiter.policy.spins);
    policy.yields = std::min(policy.yields, waiter.policy.yields);
  }
  return policy;
}

void announce_all(std::span<const Waiter> waiters, Interruption* interruption) {
  for (const Waiter& waiter : waiters) {
    if (!waiter.done) waiter.doorbell->announce_too(waiter.task->waits_for());
  }
  if (interruption != nullptr) interruption->doorbell().announce(kWaitsForAny);
}

void withdraw_all(std::span<const Waiter> waiters, Interruption* interruption) {
  for (const Waiter& waiter : waiters) waiter.doorbell->withdraw();
  if (interruption != nullptr) interruption->doorbell().withdraw();
}

// Announces, looks again, sleeps if there is still nothing. Returns what the last look found.
Pass sleep_once(std::span<Waiter> waiters, Interruption* interruption, Stall& stall, std::vector<pollfd>& fds) {
  announce_all(waiters, interruption);
  Pass pass = advance_all(waiters);
  if (pass.moved || is_pending(interruption)) {
    withdraw_all(waiters, interruption);
    return pass;
  }
  const bool rang = sleep_on_all(waiters, interruption, fds, kSleepCapMs);
  if (rang) withdraw_all(waiters, interruption);
  pass = advance_all(waiters);
  if (!rang) {  // still announced: whoever published before this look has rung, or is about to
    const bool news = pass.moved || is_pending(interruption);
    if (news && !ring_comes(waiters, interruption, fds)) count_lost_wakeup();
    withdraw_all(waiters, interruption);
  }
  if (pass.moved) return pass;
  const Time now = Clock::now();
  for (const Waiter& waiter : waiters) {
    if (!waiter.done) waiter.task->check_patience(stall.since(now), now);
  }
  return pass;
}

}  // namespace

std::atomic<uint64_t>& lost_wakeups() {
  static std::atomic<uint64_t> count{0};
  return count;
}

void run_until_one_ends(std::span<Waiter> waiters, Interruption* interruption) {
  std::vector<pollfd> fds;
  Patience patience(calmest(waiters));
  Stall stall;
  for (;;) {
    Pass pass = advance_all(waiters);
    if (!pass.moved && pass.open && !is_pending(interruption) && !patience.look_again()) {
      pass = sleep_once(waiters, interruption, stall, fds);
    }
    if (pass.moved) {
      patience.reset();
      stall.reset();
    }
    if (!pass.open || pass.ended || is_pending(interruption)) return;
  }
}

void run_to_end(Waiter waiter) {
  Task& task = *waiter.task;
  Doorbell& doorbell = *waiter.doorbell;
  Patience patience(waiter.policy);
  Stall stall;
  for (;;) {
    Progress progress = task.advance();
    if (progress == Progress::blocked && !patience.look_again()) {
      doorbell.announce(task.waits_for());
      progress = task.advance();
      if (progress == Progress::blocked) {
        const bool rang = doorbell.sleep(kSleepCapMs);
        if (rang) doorbell.withdraw();
        progress = task.advance();
        if (!rang) {  // still announced: whoever published before this look has rung, or is about to
          if (progress != Progress::blocked && !doorbell.sleep(kRingInFlightMs)) count_lost_wakeup();
          doorbell.withdraw();
        }
        if (progress == Progress::blocked) {
          const Time now = Clock::now();
          task.check_patience(stall.since(now), now);
        }
      } else {
        doorbell.withdraw();
      }
    }
    if (progress == Progress::done) return;
    if (progress == Progress::moved) {
      patience.reset();
      stall.reset();
    }
  }
}

void sleep_until(Interruption& interruption) {
  // What comes at once costs who hands it in no system call then.
  Patience patience(kIdlePolicy);
  while (!interruption.pending()) {
    if (patience.look_again()) continue;
    interruption.doorbell().announce(kWaitsForAny);
    if (!interruption.pending()) interruption.doorbell().sleep(-1);
    interruption.doorbell().withdraw();
  }
}

}  // namespace ronde
