// When the other host of a connection counts as silent.
#include "control/silence.h"

#include <catch2/catch.hpp>

namespace ronde {
namespace {

const Time kStart = Time() + std::chrono::hours(1);
constexpr std::chrono::seconds kSecond{1};

}  // namespace

TEST_CASE("silent is who acknowledges nothing for 10 s while it is asked again") {
  SilenceClock clock;
  for (int second = 0; second < 10; ++second) CHECK_FALSE(clock.observe(Delivery::repeated, kStart + second * kSecond));
  CHECK(clock.observe(Delivery::repeated, kStart + 10 * kSecond));
}

TEST_CASE("an acknowledgement between begins anew") {
  SilenceClock clock;
  const Delivery between = GENERATE(Delivery::done, Delivery::pending);
  for (int second = 0; second < 9; ++second) CHECK_FALSE(clock.observe(Delivery::repeated, kStart + second * kSecond));
  CHECK_FALSE(clock.observe(between, kStart + 9 * kSecond));
  for (int second = 10; second < 19; ++second)
    CHECK_FALSE(clock.observe(Delivery::repeated, kStart + second * kSecond));
  CHECK(clock.observe(Delivery::repeated, kStart + 19 * kSecond));
}

TEST_CASE("a process that did not run for a while blames nobody for it") {
  SilenceClock clock;
  CHECK_FALSE(clock.observe(Delivery::repeated, kStart));
  CHECK_FALSE(clock.observe(Delivery::repeated, kStart + 30 * kSecond));
  CHECK_FALSE(clock.observe(Delivery::repeated, kStart + 31 * kSecond));
}

}  // namespace ronde
