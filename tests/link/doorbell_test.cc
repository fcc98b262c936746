#include "base/doorbell.h"

#include <sys/eventfd.h>
#include <sys/socket.h>

#include <catch2/catch.hpp>
#include <thread>

namespace ronde {
namespace {

struct Bell {
  Bell() {
    auto made = Doorbell::create(&word);
    REQUIRE(made.ok());
    doorbell = std::move(*made);
  }
  [[nodiscard]] Ringer ringer(int rank) const { return {&word, doorbell->event_fd(), rank}; }

  SleepWord word;
  std::unique_ptr<Doorbell> doorbell;
};

}  // namespace

TEST_CASE("a sleeper is woken for the rank that it waits for, and for no other") {
  Bell bell;
  bell.doorbell->announce(waits_for_rank(3));
  bell.ringer(2).ring();
  bell.ringer(4).ring();
  CHECK_FALSE(bell.doorbell->sleep(0));
  bell.ringer(3).ring();
  CHECK(bell.doorbell->sleep(1000));
  CHECK_FALSE(bell.doorbell->sleep(0));  // the news is used up
}

TEST_CASE("a sleeper that waits for any rank is woken by each") {
  Bell bell;
  for (const int rank : {0, 1, 4711}) {
    bell.doorbell->announce(kWaitsForAny);
    bell.ringer(rank).ring();
    CHECK(bell.doorbell->sleep(1000));
    bell.doorbell->withdraw();
  }
}

TEST_CASE("two waits on one doorbell become a wait for any, until they are withdrawn") {
  Bell bell;
  bell.doorbell->announce_too(waits_for_rank(1));
  bell.doorbell->announce_too(waits_for_rank(1));
  CHECK(bell.word.waits_for == waits_for_rank(1));
  bell.doorbell->announce_too(waits_for_rank(2));
  CHECK(bell.word.waits_for == kWaitsForAny);
  bell.doorbell->withdraw();
  bell.doorbell->announce_too(waits_for_rank(2));
  CHECK(bell.word.waits_for == waits_for_rank(2));
}

TEST_CASE("nobody rings for a rank that is awake") {
  Bell bell;
  bell.ringer(1).ring();
  bell.doorbell->wake();
  bell.doorbell->announce(kWaitsForAny);
  bell.doorbell->withdraw();
  bell.ringer(1).ring();
  CHECK_FALSE(bell.doorbell->sleep(0));
}

TEST_CASE("wake ends a sleep whatever it waits for") {
  Bell bell;
  bell.doorbell->announce(waits_for_rank(7));
  std::thread thread([&] { bell.doorbell->wake(); });
  CHECK(bell.doorbell->sleep(5000));
  thread.join();
}

TEST_CASE("a socket that becomes ready or is closed ends a sleep") {
  Bell bell;
  int pair[2];
  REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, pair) == 0);
  const Fd own(pair[0]);
  Fd other(pair[1]);
  REQUIRE(bell.doorbell->add_socket(own.get()).ok());
  bell.doorbell->drain();  // it can be written to: that is news, once
  CHECK_FALSE(bell.doorbell->sleep(0));
  REQUIRE(::send(other.get(), "x", 1, 0) == 1);
  CHECK(bell.doorbell->sleep(1000));
  CHECK_FALSE(bell.doorbell->sleep(0));
  other.reset();
  CHECK(bell.doorbell->sleep(1000));
}

TEST_CASE("a sleep ends by its timeout") {
  Bell bell;
  const Time begin = Clock::now();
  CHECK_FALSE(bell.doorbell->sleep(30));
  CHECK(Clock::now() - begin >= Milliseconds(29));
}

TEST_CASE("a descriptor that cannot be watched is an error with the system's reason") {
  Bell bell;
  const Status status = bell.doorbell->add_socket(-1);
  CHECK(status.code() == rondeSystemError);
  CHECK_THAT(status.message(), Catch::Contains("errno"));
}

}  // namespace ronde
