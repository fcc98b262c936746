// The one place in which the library waits for other ranks. It drives tasks: things that do what they can without
// blocking and say what they wait for.
#pragma once

#include <atomic>
#include <span>

#include "base/deadline.h"
#include "base/doorbell.h"

namespace ronde {

enum class Progress : uint8_t {
  done,     // the task has ended
  moved,    // something was done; call again
  blocked,  // nothing can be done before waits_for() has news
};

// How long to look before sleeping. Counted in calls of advance() that found nothing.
struct WaitPolicy {
  int spins = 0;   // with a pause each
  int yields = 0;  // after that, with a sched_yield each
};

class Task {
 public:
  // Does what can be done without blocking. Not called again after done.
  virtual Progress advance() = 0;
  // After blocked: a rank as waits_for_rank(r), or kWaitsForAny.
  [[nodiscard]] virtual uint32_t waits_for() const = 0;
  // Asked about every 100 ms while nothing moves: warns, or ends the task with an error (advance() then returns done).
  virtual void check_patience(Time waiting_since, Time now) = 0;

 protected:
  ~Task() = default;
};

// A task with what it sleeps on. Several tasks may share a doorbell.
struct Waiter {
  Task* task = nullptr;
  Doorbell* doorbell = nullptr;
  WaitPolicy policy;
  bool done = false;
};

// Something that ends a wait besides the tasks: what other threads hand to the one that drives them.
class Interruption {
 public:
  // A look at memory, by the driving thread; also the last one before a sleep. Who makes it true then wakes the
  // doorbell.
  [[nodiscard]] virtual bool pending() const = 0;
  [[nodiscard]] virtual Doorbell& doorbell() = 0;

 protected:
  ~Interruption() = default;
};

// Sleeps that ended by their cap of 100 ms although there was work: lost wake-ups. 0 unless the library has a fault.
std::atomic<uint64_t>& lost_wakeups();

// Drives one task to its end, in the calling thread.
void run_to_end(Waiter waiter);

// Drives those that are not done until at least one of them is, or the interruption (null: there is none) is pending;
// each is advanced at least once.
void run_until_one_ends(std::span<Waiter> waiters, Interruption* interruption);

// For a thread that has nothing to drive: sleeps, without a limit, until the interruption is pending.
void sleep_until(Interruption& interruption);

}  // namespace ronde
