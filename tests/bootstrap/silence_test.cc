// When the other host of a connection counts as silent.
#include "bootstrap/silence.h"

#include <catch2/catch.hpp>

namespace ronde {
namespace {

const Time kStart = Time() + std::chrono::hours(1);
constexpr std::chrono::seconds kSecond{1};
constexpr Milliseconds kLongAgo{3'600'000};  // when the connection was used last
const Delivery kRepeated{Delivery::State::repeated, kLongAgo};

}  // namespace

TEST_CASE("silent is who acknowledges nothing for 10 s while it is asked again") {
  SilenceClock clock(10 * kSecond);
  for (int second = 0; second < 10; ++second) CHECK_FALSE(clock.observe(kRepeated, kStart + second * kSecond));
  CHECK(clock.observe(kRepeated, kStart + 10 * kSecond));
}

TEST_CASE("the limit is the one that is set") {
  SilenceClock clock(60 * kSecond);
  for (int second = 0; second < 60; ++second) CHECK_FALSE(clock.observe(kRepeated, kStart + second * kSecond));
  CHECK(clock.observe(kRepeated, kStart + 60 * kSecond));
}

TEST_CASE("an acknowledgement between begins anew") {
  SilenceClock clock(10 * kSecond);
  const Delivery between = GENERATE(Delivery{Delivery::State::done, {}}, Delivery{Delivery::State::pending, kLongAgo});
  for (int second = 0; second < 9; ++second) CHECK_FALSE(clock.observe(kRepeated, kStart + second * kSecond));
  CHECK_FALSE(clock.observe(between, kStart + 9 * kSecond));
  for (int second = 10; second < 19; ++second) CHECK_FALSE(clock.observe(kRepeated, kStart + second * kSecond));
  CHECK(clock.observe(kRepeated, kStart + 19 * kSecond));
}

TEST_CASE("an acknowledgement between two looks begins anew, though each of them sees something repeated") {
  SilenceClock clock(10 * kSecond);
  for (int second = 0; second < 7; ++second) CHECK_FALSE(clock.observe(kRepeated, kStart + second * kSecond));
  // The link was back at 6.5 s and is down again.
  for (int second = 7; second < 16; ++second) {
    const Milliseconds since_last_sign(second * 1000 - 6500);
    CHECK_FALSE(clock.observe({Delivery::State::repeated, since_last_sign}, kStart + second * kSecond));
  }
  CHECK(clock.observe({Delivery::State::repeated, Milliseconds(10'500)}, kStart + 17 * kSecond));
}

TEST_CASE("a host is asked in another way after 2 s, and its answers count for 30 s") {
  SilenceClock clock(10 * kSecond);
  CHECK_FALSE(clock.observe(kRepeated, kStart));
  CHECK_FALSE(clock.is_to_be_asked(kStart + kSecond));
  for (int second = 1; second < 30; ++second) {
    CHECK_FALSE(clock.observe(kRepeated, kStart + second * kSecond));
    CHECK(clock.is_to_be_asked(kStart + second * kSecond) == (second >= 2));
    clock.has_answered(kStart + second * kSecond);
  }
  CHECK(clock.observe(kRepeated, kStart + 30 * kSecond));
}

TEST_CASE("one answer puts the end off by 10 s") {
  SilenceClock clock(10 * kSecond);
  for (int second = 0; second < 9; ++second) CHECK_FALSE(clock.observe(kRepeated, kStart + second * kSecond));
  clock.has_answered(kStart + 8 * kSecond);
  for (int second = 9; second < 18; ++second) CHECK_FALSE(clock.observe(kRepeated, kStart + second * kSecond));
  CHECK(clock.observe(kRepeated, kStart + 18 * kSecond));
}

TEST_CASE("a process that did not run for a while blames nobody for it") {
  SilenceClock clock(10 * kSecond);
  CHECK_FALSE(clock.observe(kRepeated, kStart));
  CHECK_FALSE(clock.observe(kRepeated, kStart + 30 * kSecond));
  CHECK_FALSE(clock.observe(kRepeated, kStart + 31 * kSecond));
}

}  // namespace ronde
