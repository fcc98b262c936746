#include "base/wait_loop.h"

#include <sys/eventfd.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <iterator>
#include <span>
#include <thread>
#include <vector>

#include "support/watchdog.h"

namespace ronde {
namespace {

using testing::Watchdog;

constexpr WaitPolicy kSleepAtOnce{0, 0};

// A rank: a word that it publishes, and its doorbell.
struct Rank {
  Rank() {
    auto made = Doorbell::create(&sleep);
    REQUIRE(made.ok());
    doorbell = std::move(*made);
  }
  SharedCounter counter;
  SleepWord sleep;
  std::unique_ptr<Doorbell> doorbell;
};

Ringer ringer_to(const Rank& rank, int own_rank) { return {&rank.sleep, rank.doorbell->event_fd(), own_rank}; }

// Publishes its number as soon as the other one has published the one before, until `rounds`.
class PingPong final : public Task {
 public:
  PingPong(Rank& own, const Rank& other, int own_rank, uint32_t rounds)
      : own_(own), other_(other), own_rank_(own_rank), ringer_(ringer_to(other, own_rank)), rounds_(rounds) {}

  Progress advance() override {
    const uint32_t wanted = own_rank_ == 0 ? sent_ : sent_ + 1;
    if (!reached(observe(other_.counter.value), wanted)) return Progress::blocked;
    if (sent_ == rounds_) return Progress::done;
    publish(own_.counter.value, ++sent_);
    ringer_.ring();
    return own_rank_ == 1 && sent_ == rounds_ ? Progress::done : Progress::moved;
  }
  [[nodiscard]] uint32_t waits_for() const override { return waits_for_rank(1 - own_rank_); }
  void check_patience(Time, Time) override {}

 private:
  Rank& own_;
  const Rank& other_;
  int own_rank_;
  Ringer ringer_;
  uint32_t rounds_;
  uint32_t sent_ = 0;
};

// Ends when a counter has reached a value.
class Await final : public Task {
 public:
  Await(const SharedCounter& counter, uint32_t value, int rank) : counter_(counter), value_(value), rank_(rank) {}

  Progress advance() override { return reached(observe(counter_.value), value_) ? Progress::done : Progress::blocked; }
  [[nodiscard]] uint32_t waits_for() const override { return waits_for_rank(rank_); }
  void check_patience(Time, Time) override {}

 private:
  const SharedCounter& counter_;
  uint32_t value_;
  int rank_;
};

// Finds something in its first look after its last one before a sleep, as if somebody had published without a ring.
// With an eventfd: the ring comes, but only after the sleep.
class FoundLate final : public Task {
 public:
  explicit FoundLate(int event_fd) : event_fd_(event_fd) {}
  Progress advance() override {
    if (++looks_ < 3) return Progress::blocked;
    if (event_fd_ >= 0) ::eventfd_write(event_fd_, 1);
    return Progress::done;
  }
  [[nodiscard]] uint32_t waits_for() const override { return kWaitsForAny; }
  void check_patience(Time, Time) override {}

 private:
  int event_fd_;
  int looks_ = 0;
};

// Ends by its own impatience.
class Impatient final : public Task {
 public:
  Progress advance() override { return ended_ ? Progress::done : Progress::blocked; }
  [[nodiscard]] uint32_t waits_for() const override { return kWaitsForAny; }
  void check_patience(Time waiting_since, Time now) override {
    waits.push_back(now - waiting_since);
    ended_ = waits.size() == 3;
  }

  std::vector<Time::duration> waits;

 private:
  bool ended_ = false;
};

void sleep_ms(int ms) { std::this_thread::sleep_for(Milliseconds(ms)); }

// As users of the loop do: those that are done are taken out.
void run_all_to_end(std::span<Waiter> waiters) {
  for (;;) {
    std::vector<Waiter> open;
    std::copy_if(waiters.begin(), waiters.end(), std::back_inserter(open), [](const Waiter& one) { return !one.done; });
    if (open.empty()) return;
    run_until_one_ends(open, nullptr);
    for (auto ended = open.begin(); Waiter & waiter : waiters) {
      if (!waiter.done) waiter.done = (ended++)->done;
    }
  }
}

}  // namespace

TEST_CASE("no wake-up is lost in a ping-pong of two ranks that sleep at once") {
  const Watchdog watchdog("a ping-pong of sleepers", Milliseconds(100'000));
  constexpr uint32_t kRounds = 2000;
  const uint64_t lost_before = lost_wakeups();
  Rank ranks[2];
  std::thread thread([&] {
    PingPong task(ranks[1], ranks[0], 1, kRounds);
    run_to_end({&task, ranks[1].doorbell.get(), kSleepAtOnce, false});
  });
  PingPong task(ranks[0], ranks[1], 0, kRounds);
  run_to_end({&task, ranks[0].doorbell.get(), kSleepAtOnce, false});
  thread.join();
  CHECK(ranks[0].counter.value == kRounds);
  CHECK(ranks[1].counter.value == kRounds);
  CHECK(lost_wakeups() == lost_before);
}

TEST_CASE("one thread drives both ends of several ping-pongs") {
  const Watchdog watchdog("ping-pongs in one thread", Milliseconds(100'000));
  constexpr uint32_t kRounds = 300;
  const uint64_t lost_before = lost_wakeups();
  std::vector<Rank> ranks(6);
  std::vector<PingPong> tasks;
  for (size_t i = 0; i < ranks.size(); ++i) {
    const int own_rank = static_cast<int>(i % 2);
    tasks.emplace_back(ranks[i], ranks[i ^ 1], own_rank, kRounds);
  }
  std::vector<Waiter> waiters;
  for (size_t i = 0; i < ranks.size(); ++i) {
    waiters.push_back({&tasks[i], ranks[i].doorbell.get(), kSleepAtOnce, false});
  }
  run_all_to_end(waiters);
  for (const Waiter& waiter : waiters) CHECK(waiter.done);
  for (const Rank& rank : ranks) CHECK(rank.counter.value == kRounds);
  CHECK(lost_wakeups() == lost_before);
}

TEST_CASE("a sleeper over several doorbells is woken by each of them") {
  const Watchdog watchdog("sleepers on several doorbells", Milliseconds(100'000));
  constexpr uint32_t kRounds = 300;
  const uint64_t lost_before = lost_wakeups();
  std::vector<Rank> ranks(4);  // 0 and 2 in this thread, each other one in its own
  std::vector<std::thread> threads;
  for (const size_t i : {size_t{1}, size_t{3}}) {
    threads.emplace_back([&ranks, i] {
      PingPong task(ranks[i], ranks[i - 1], 1, kRounds);
      run_to_end({&task, ranks[i].doorbell.get(), kSleepAtOnce, false});
    });
  }
  PingPong first(ranks[0], ranks[1], 0, kRounds);
  PingPong second(ranks[2], ranks[3], 0, kRounds);
  Waiter waiters[] = {{&first, ranks[0].doorbell.get(), kSleepAtOnce, false},
                      {&second, ranks[2].doorbell.get(), kSleepAtOnce, false}};
  run_all_to_end(waiters);
  for (std::thread& thread : threads) thread.join();
  CHECK(lost_wakeups() == lost_before);
}

TEST_CASE("tasks that share a doorbell and wait for different ranks are both woken") {
  const Watchdog watchdog("tasks that share a doorbell", Milliseconds(30'000));
  const uint64_t lost_before = lost_wakeups();
  Rank own;
  SharedCounter counters[2];
  Await first(counters[0], 1, 1);
  Await second(counters[1], 1, 2);
  std::thread thread([&] {
    for (const int rank : {1, 2}) {
      sleep_ms(rank == 1 ? 20 : 250);  // longer than a sleep lasts that was not rung
      publish(counters[rank - 1].value, 1);
      ringer_to(own, rank).ring();
    }
  });
  Waiter waiters[] = {{&first, own.doorbell.get(), kSleepAtOnce, false},
                      {&second, own.doorbell.get(), kSleepAtOnce, false}};
  run_all_to_end(waiters);
  thread.join();
  CHECK(lost_wakeups() == lost_before);
}

TEST_CASE("work that is found by the cap of a sleep is counted if no ring is on its way") {
  const bool alone = GENERATE(true, false);
  const bool rung = GENERATE(true, false);
  CAPTURE(alone, rung);
  const uint64_t lost_before = lost_wakeups();
  Rank own;
  FoundLate task(rung ? own.doorbell->event_fd() : -1);
  Waiter waiter{&task, own.doorbell.get(), kSleepAtOnce, false};
  if (alone) {
    run_to_end(waiter);
  } else {
    run_until_one_ends({&waiter, 1}, nullptr);
  }
  CHECK(lost_wakeups() == lost_before + (rung ? 0 : 1));
  lost_wakeups() = lost_before;
}

namespace {

// Pending as soon as a counter has moved.
struct Counted final : Interruption {
  explicit Counted(Rank& from) : rank(from) {}
  [[nodiscard]] bool pending() const override { return observe(rank.counter.value) != 0; }
  [[nodiscard]] Doorbell& doorbell() override { return *rank.doorbell; }
  Rank& rank;
};

// A thread that makes it pending while the caller sleeps, and rings.
std::thread interrupt_sleeper(Rank& rank) {
  return std::thread([&rank] {
    while (!is_sleeping(rank.sleep)) std::this_thread::yield();
    publish(rank.counter.value, 1);
    rank.doorbell->wake();
  });
}

}  // namespace

TEST_CASE("tasks are driven until one ends or an interruption is pending") {
  const Watchdog watchdog("run_until_one_ends", Milliseconds(30'000));
  const uint64_t lost_before = lost_wakeups();
  Rank own[2];
  Rank other;
  Counted interruption(other);
  SharedCounter counters[2];
  Await first(counters[0], 1, 1);
  Await second(counters[1], 1, 1);
  Waiter waiters[] = {{&first, own[0].doorbell.get(), kSleepAtOnce, false},
                      {&second, own[1].doorbell.get(), kSleepAtOnce, false}};

  std::thread interrupter = interrupt_sleeper(other);
  run_until_one_ends(waiters, &interruption);
  interrupter.join();
  CHECK_FALSE(waiters[0].done);
  CHECK_FALSE(waiters[1].done);
  run_until_one_ends(waiters, &interruption);  // still pending: one look at each
  CHECK_FALSE(waiters[0].done);

  publish(other.counter.value, 0);
  std::thread publisher([&] {
    while (!is_sleeping(own[1].sleep)) std::this_thread::yield();
    publish(counters[1].value, 1);
    ringer_to(own[1], 1).ring();
  });
  run_until_one_ends(waiters, &interruption);
  publisher.join();
  CHECK_FALSE(waiters[0].done);
  CHECK(waiters[1].done);

  publish(counters[0].value, 1);
  run_until_one_ends(waiters, nullptr);
  CHECK(waiters[0].done);
  CHECK(lost_wakeups() == lost_before);
}

TEST_CASE("who has nothing to drive sleeps until it is interrupted") {
  const Watchdog watchdog("sleep_until", Milliseconds(30'000));
  Rank rank;
  Counted interruption(rank);
  std::thread interrupter = interrupt_sleeper(rank);
  sleep_until(interruption);
  interrupter.join();
  CHECK(interruption.pending());
  sleep_until(interruption);
}

TEST_CASE("patience is asked while nothing moves, and can end a task") {
  const Watchdog watchdog("an impatient task", Milliseconds(30'000));
  const bool alone = GENERATE(true, false);
  CAPTURE(alone);
  Rank own;
  Impatient task;
  Waiter waiter{&task, own.doorbell.get(), WaitPolicy{10, 10}, false};
  if (alone) {
    run_to_end(waiter);
  } else {
    run_until_one_ends({&waiter, 1}, nullptr);
  }
  REQUIRE(task.waits.size() == 3);
  CHECK(task.waits[0] <= task.waits[1]);
  CHECK(task.waits[2] - task.waits[0] >= Milliseconds(150));  // about 100 ms between two of them
}

}  // namespace ronde
