#include "base/waiting_room.h"

#include <atomic>
#include <catch2/catch.hpp>
#include <cstdint>
#include <thread>
#include <vector>

#include "support/watchdog.h"

namespace ronde {

TEST_CASE("who waits in a room goes on when its own condition holds, others sleep on") {
  const testing::Watchdog watchdog("a waiting room", Milliseconds(30'000));
  WaitingRoom room;
  std::atomic<uint64_t> count{0};
  std::atomic<uint64_t> gone_on{0};
  constexpr uint64_t kThreads = 8;
  std::vector<std::thread> threads;
  for (uint64_t i = 1; i <= kThreads; ++i) {
    threads.emplace_back([&, i] {
      room.wait_until([&] { return observe_raised(count) >= i; });
      ++gone_on;
    });
  }
  for (uint64_t i = 1; i <= kThreads; ++i) {
    raise(count, i);
    room.tell();
    while (gone_on < i) std::this_thread::yield();
    CHECK(gone_on == i);
  }
  for (std::thread& thread : threads) thread.join();
  room.wait_until([] { return true; });
}

TEST_CASE("no wake-up of a room is lost") {
  const testing::Watchdog watchdog("a waiting room", Milliseconds(30'000));
  WaitingRoom room;
  std::atomic<uint64_t> asked{0};
  std::atomic<uint64_t> answered{0};
  constexpr uint64_t kRounds = 5000;
  std::thread other([&] {
    for (uint64_t i = 1; i <= kRounds; ++i) {
      room.wait_until([&] { return observe_raised(asked) >= i; });
      raise(answered, i);
      room.tell();
    }
  });
  for (uint64_t i = 1; i <= kRounds; ++i) {
    raise(asked, i);
    room.tell();
    room.wait_until([&] { return observe_raised(answered) >= i; });
  }
  other.join();
  CHECK(answered == kRounds);
}

}  // namespace ronde
