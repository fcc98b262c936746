// What every test of a whole world checks around its calls: the world starts, the calls end well, no wake-up is lost.
#pragma once

#include <catch2/catch.hpp>
#include <functional>

#include "base/wait_loop.h"
#include "support/world.h"

namespace ronde::testing {

inline void check_calls(const WorldOptions& options, const std::function<Status(World&)>& run) {
  CAPTURE(options.nranks);
  const uint64_t lost_before = lost_wakeups();
  World world(options);
  const Status made = first_failure(world.made());
  INFO(made.message());
  REQUIRE(made.ok());
  const Status status = run(world);
  INFO(status.message());
  CHECK(status.ok());
  CHECK(lost_wakeups() == lost_before);
}

}  // namespace ronde::testing
