// The control plane in simulated worlds: thousands of runs with faults, each from one seed.
#include "support/control_world.h"

#include <fmt/format.h>

#include <catch2/catch.hpp>

#include "support/how_many.h"

namespace ronde::testing {
namespace {

ControlWorldOptions options_of(uint64_t seed) {
  ControlWorldOptions options;
  options.seed = seed;
  options.hard_faults = seed % 8 != 0;  // without: nobody may hear of a failure
  options.real_frames = seed % 16 == 1;
  return options;
}

// The first one in 2,000 worlds; "": the planted fault does not show.
std::string violation_with(PlantedFault planted, bool in_shrinks) {
  for (uint64_t seed = 1; seed <= 2000; ++seed) {
    ControlWorldOptions options = options_of(seed);
    options.planted = planted;
    options.shrinks = in_shrinks;
    ControlWorld world(options);
    world.run();
    if (!world.violations().empty()) return world.violations().front();
  }
  return "";
}

}  // namespace

TEST_CASE("simulated worlds: no rank waits for ever, is blamed wrongly, or hears of a failure without a cause") {
  ControlWorld::Counts sum;
  int fewest_faults = 1000;
  for (uint64_t seed = 1; seed <= how_many("TEST_SEEDS", 400); ++seed) {
    ControlWorld world(options_of(seed));
    world.run();
    INFO(fmt::format("{}", fmt::join(world.history(), "\n")));
    REQUIRE(world.violations() == std::vector<std::string>());
    fewest_faults = std::min(fewest_faults, world.faults());
    sum.operations += world.counts().operations;
    sum.warnings_checked += world.counts().warnings_checked;
    sum.failures += world.counts().failures;
    for (const auto& [kind, count] : world.counts().hard) sum.hard[kind] += count;
  }
  CHECK(fewest_faults >= 20);
  CHECK(sum.operations > 1000);
  CHECK(sum.warnings_checked > 100);
  CHECK(sum.failures > 500);
  CHECK(sum.hard.size() == 5);
}

TEST_CASE("simulated worlds: the ranks that are left agree on who goes on") {
  int decisions = 0;
  for (uint64_t seed = 1; seed <= how_many("TEST_SEEDS", 400); ++seed) {
    ControlWorldOptions options = options_of(seed);
    options.shrinks = true;
    options.gives_up = seed % 2 == 0;
    ControlWorld world(options);
    world.run();
    INFO(fmt::format("{}", fmt::join(world.history(), "\n")));
    REQUIRE(world.violations() == std::vector<std::string>());
    decisions += world.counts().decisions;
  }
  CHECK(decisions > 500);
}

TEST_CASE("simulated worlds: one word that never arrives at one rank is found") {
  const bool in_a_shrink = GENERATE(false, true);
  CHECK(violation_with(PlantedFault::lost_word, in_a_shrink) != "");
}

TEST_CASE("simulated worlds: a rank that forgets that it has refused is found") {
  CHECK(violation_with(PlantedFault::forgotten_refusal, true).find("which has refused") != std::string::npos);
}

TEST_CASE("simulated worlds: one seed repeats a run") {
  const auto run = [](uint64_t seed) {
    ControlWorld world(options_of(seed));
    world.run();
    return world.history();
  };
  CHECK(run(5) == run(5));
  CHECK(run(5) != run(6));
}

}  // namespace ronde::testing
