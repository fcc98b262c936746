// The doorbell of one rank of one communicator: what it sleeps on, and how others wake it.
//
// A rank that has nothing to do announces in its sleep word whom it waits for and sleeps on one epoll descriptor, in
// which its eventfd and the sockets of its wire links are. Peers hold a Ringer: they publish, then ring; ringing costs
// a load unless somebody sleeps.
#pragma once

#include <memory>

#include "base/deadline.h"
#include "base/fd.h"
#include "base/shared_word.h"
#include "base/status.h"

namespace ronde {

// The owner's side. Used by the thread that drives the communicator; wake() by any thread.
class Doorbell {
 public:
  // word: the sleep word, in memory that the peers can read; outlives the doorbell.
  static Result<std::unique_ptr<Doorbell>> create(SleepWord* word);

  // To be handed to the peers.
  [[nodiscard]] int event_fd() const { return event_.get(); }
  // Readable when there is news; for an outer poll.
  [[nodiscard]] int poll_fd() const { return epoll_.get(); }

  // Adds a socket whose readiness, to read or to write, ends a sleep. Edge-triggered: the owner must have met EAGAIN
  // before it sleeps. The socket leaves by being closed.
  Status add_socket(int fd);

  void announce(uint32_t waits_for) { announce_sleep(*word_, waits_for); }
  // The same beside what was announced since withdraw(), for another task.
  void announce_too(uint32_t waits_for) {
    const uint32_t before = own_value(word_->waits_for);
    announce_sleep(*word_, before == kAwake || before == waits_for ? waits_for : kWaitsForAny);
  }
  void withdraw() { withdraw_sleep(*word_); }

  // Sleeps until somebody rings, a socket is ready, or the timeout (milliseconds) passes; false for the last. Signals
  // end a sleep early, as news.
  bool sleep(int timeout_ms);
  // Forgets the news that an outer poll has seen.
  void drain() { sleep(0); }

  // Wakes the owner whatever it waits for: abort, failure.
  void wake();

 private:
  Doorbell(SleepWord* word, Fd event, Fd epoll) : word_(word), event_(std::move(event)), epoll_(std::move(epoll)) {}

  SleepWord* word_;
  Fd event_;
  Fd epoll_;
};

// A peer's side: wakes the owner of the doorbell if it sleeps for this rank. A value; does not own the descriptor.
class Ringer {
 public:
  Ringer() = default;
  // own_rank: the rank that rings, as it stands in the sleeper's word.
  Ringer(const SleepWord* word, int event_fd, int own_rank) : word_(word), event_fd_(event_fd), own_rank_(own_rank) {}

  // After a publish.
  void ring() const {
    if (is_sleeping_for(*word_, own_rank_)) write_event();
  }

 private:
  void write_event() const;

  const SleepWord* word_ = nullptr;
  int event_fd_ = -1;
  int own_rank_ = 0;
};

}  // namespace ronde
