#include "base/deadline.h"

#include <catch2/catch.hpp>

namespace ronde {
namespace {

const Time kNow = Time() + std::chrono::hours(1);

}  // namespace

TEST_CASE("Halfway to a deadline is half of the time that is left") {
  const Deadline deadline = Deadline::at(kNow + Milliseconds(10));
  CHECK(deadline.halfway(kNow).time() == kNow + Milliseconds(5));
  CHECK(deadline.halfway(kNow + Milliseconds(6)).time() == kNow + Milliseconds(8));
  CHECK(deadline.halfway(kNow + Milliseconds(10)).time() == deadline.time());
  CHECK(deadline.halfway(kNow + Milliseconds(11)).time() == deadline.time());  // passed: never later than it was
  CHECK(Deadline::never().halfway(kNow).time() == Deadline::never().time());
}

TEST_CASE("The timeout of a poll is rounded up, so that it does not end just before the deadline") {
  const Deadline deadline = Deadline::at(kNow + std::chrono::microseconds(1500));
  CHECK(deadline.poll_timeout(kNow, 100) == 2);
  CHECK(deadline.poll_timeout(kNow, 1) == 1);
  CHECK(deadline.poll_timeout(deadline.time(), 100) == 0);
  CHECK(Deadline::never().poll_timeout(kNow, 100) == 100);
}

}  // namespace ronde
