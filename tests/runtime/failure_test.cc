// What ends an operation before its time: abort, silence, broken links, ranks that call different things.
#include <algorithm>
#include <catch2/catch.hpp>
#include <string>
#include <thread>

#include "runtime/all_reduce_model.h"
#include "support/fault_transport.h"
#include "transports/built_in.h"

namespace ronde::testing {
namespace {

constexpr Call kLargeCall{rondeFloat32, rondeSum, 100'000, false, 0};

WorldOptions world_of(int nranks, const std::string& transport, const std::string& algorithm) {
  WorldOptions options;
  options.nranks = nranks;
  options.settings = {{"RONDE_TRANSPORT", transport}, {"RONDE_ALGO", algorithm}};
  return options;
}

struct Way {
  std::string transport;
  std::string algorithm;
};
const std::vector<Way>& all_ways() {
  static const std::vector<Way> ways = {{"inproc", "auto"}, {"inproc", "ring"}, {"shm", "two_shot"},
                                        {"shm", "star"},    {"tcp", "ring"},    {"tcp", "star"}};
  return ways;
}

Status run_one(Communicator& comm, const Call& call) {
  CallBuffers buffers(call, comm.rank(), comm.nranks());
  return comm.run(buffers.args());
}

// Operations until one fails; what the failure was.
Status run_until_failure(Communicator& comm, const Call& call, int at_most) {
  for (int i = 0; i < at_most; ++i) RONDE_TRY(run_one(comm, call));
  return {};
}

}  // namespace

TEST_CASE("abort from another thread ends an operation that waits, at once, and the other ranks are told") {
  for (const Way& way : all_ways()) {
    CAPTURE(way.transport, way.algorithm);
    World world(world_of(3, way.transport, way.algorithm));
    REQUIRE(first_failure(world.made()).ok());
    Time ended{};
    Time aborted{};
    const auto statuses = in_threads(4, [&](int thread) -> Status {
      if (thread == 2) return {};  // never calls
      if (thread == 3) {
        std::this_thread::sleep_for(Milliseconds(60));
        aborted = Clock::now();
        world[0].abort();
        return {};
      }
      const Status status = run_one(world[thread], kLargeCall);
      if (thread == 0) ended = Clock::now();
      return status;
    });
    CHECK(ended - aborted < Milliseconds(1000));
    CHECK(statuses[0].code() == rondeAborted);
    CHECK(statuses[1].code() == rondeRemoteError);
    CHECK_THAT(statuses[1].message(), Catch::Contains("rank 0 aborted"));
    CHECK(run_one(world[0], kLargeCall).code() == rondeAborted);
    CHECK(run_one(world[2], kLargeCall).code() == rondeRemoteError);
    CHECK(world[0].first_error().code() == rondeAborted);
  }
}

TEST_CASE("a link that falls silent becomes a time-out that names a rank, and an error everywhere") {
  for (const Way& way : {Way{"inproc", "ring"}, Way{"tcp", "ring"}, Way{"tcp", "star"}}) {
    CAPTURE(way.transport, way.algorithm);
    WorldOptions options = world_of(3, way.transport, way.algorithm);
    options.settings.emplace_back("RONDE_LATE_TIMEOUT", "1");
    options.transports = [] { return with_faults(built_in_transports(), {.drop_after = 9, .only_rank = 1}); };
    World world(options);
    REQUIRE(first_failure(world.made()).ok());
    const auto statuses = world.run([](Communicator& comm) { return run_until_failure(comm, kLargeCall, 50); });
    for (const Status& status : statuses) {
      CHECK(status.code() == rondeTimedOut);
      CHECK_THAT(status.message(), Catch::Contains("for rank "));
    }
  }
}

TEST_CASE("a link that breaks is an error on all ranks") {
  for (const Way& way : {Way{"inproc", "ring"}, Way{"shm", "ring"}, Way{"tcp", "star"}}) {
    CAPTURE(way.transport, way.algorithm);
    WorldOptions options = world_of(3, way.transport, way.algorithm);
    options.transports = [] { return with_faults(built_in_transports(), {.fail_after = 9, .only_rank = 2}); };
    World world(options);
    REQUIRE(first_failure(world.made()).ok());
    const auto statuses = world.run([](Communicator& comm) { return run_until_failure(comm, kLargeCall, 50); });
    for (const Status& status : statuses) {
      CHECK(status.code() == rondePeerLost);
      CHECK_THAT(status.message(), Catch::Contains("planted failure"));
    }
  }
}

TEST_CASE("a rank that ends in the middle is named to the others") {
  for (const Way& way : all_ways()) {
    CAPTURE(way.transport, way.algorithm);
    World world(world_of(3, way.transport, way.algorithm));
    REQUIRE(first_failure(world.made()).ok());
    REQUIRE(run_calls(world, {kLargeCall}).ok());
    const auto statuses = in_threads(3, [&](int rank) -> Status {
      if (rank != 1) return run_one(world[rank], kLargeCall);
      std::this_thread::sleep_for(Milliseconds(50));
      world[1].abort();
      world.destroy(1);
      return {};
    });
    for (const int rank : {0, 2}) {
      CHECK_FALSE(statuses[static_cast<size_t>(rank)].ok());
      CHECK_THAT(statuses[static_cast<size_t>(rank)].message(), Catch::Contains("rank 1"));
    }
  }
}

TEST_CASE("case_25: ranks that call different things get a mismatch that says what each has called, not data") {
  const std::vector<Call> others = {{rondeFloat32, rondeSum, 14, false, 0},   {rondeFloat32, rondeSum, 0, false, 0},
                                    {rondeFloat32, rondeSum, 1001, false, 0}, {rondeFloat32, rondeMax, 1000, false, 0},
                                    {rondeInt32, rondeSum, 1000, false, 0},   {rondeFloat64, rondeSum, 500, false, 0}};
  for (const Way& way : all_ways()) {
    for (size_t i = 0; i < others.size(); ++i) {
      const Call& other = others[i];
      const int odd = static_cast<int>(i % 3);  // the first, an inner, the last rank
      CAPTURE(way.transport, way.algorithm, other.count, odd);
      WorldOptions options = world_of(3, way.transport, way.algorithm);
      options.settings.emplace_back("RONDE_LATE_TIMEOUT", "5");
      World world(options);
      REQUIRE(first_failure(world.made()).ok());
      const auto statuses = world.run([&](Communicator& comm) -> Status {
        std::vector<double> input(2000);
        std::vector<double> output(2000);
        const Call call = comm.rank() == odd ? other : Call{rondeFloat32, rondeSum, 1000, false, 0};
        // Whose own part had ended before the others found out learns it from its next call.
        for (int number = 0; number < 2; ++number) {
          RONDE_TRY(comm.run({input.data(), output.data(), call.count, call.type, call.op}));
        }
        return {};
      });
      for (const Status& status : statuses) {
        CHECK(status.code() == rondeMismatch);
        CHECK_THAT(status.message(),
                   Catch::Contains(describe({nullptr, nullptr, 1000, rondeFloat32, rondeSum})) &&
                       Catch::Contains("rank " + std::to_string(odd) + ": " +
                                       describe({nullptr, nullptr, other.count, other.type, other.op})));
      }
    }
  }
}

TEST_CASE("a rank that has made one call more than the others is a mismatch or a time-out, never a success") {
  for (const Way& way : {Way{"inproc", "auto"}, Way{"shm", "two_shot"}, Way{"tcp", "ring"}}) {
    CAPTURE(way.transport, way.algorithm);
    WorldOptions options = world_of(2, way.transport, way.algorithm);
    options.settings.emplace_back("RONDE_LATE_TIMEOUT", "1");
    World world(options);
    REQUIRE(first_failure(world.made()).ok());
    const auto statuses = world.run([&](Communicator& comm) -> Status {
      RONDE_TRY(run_one(comm, kLargeCall));
      if (comm.rank() == 0) return run_one(comm, kLargeCall);
      return {};
    });
    CHECK(statuses[0].code() == rondeTimedOut);
    CHECK_THAT(statuses[0].message(), Catch::Contains("for rank 1, which has not called it"));
    CHECK_FALSE(run_one(world[1], kLargeCall).ok());
  }
}

TEST_CASE("who is late is named on every rank that waits, not who stands next to it") {
  for (const Way& way : {Way{"inproc", "ring"}, Way{"shm", "star"}, Way{"tcp", "ring"}}) {
    for (const bool real_root : {false, true}) {
      CAPTURE(way.transport, way.algorithm, real_root);
      WorldOptions options = world_of(5, way.transport, way.algorithm);
      options.settings.emplace_back("RONDE_LATE_TIMEOUT", "1");
      options.real_root = real_root;
      World world(options);
      REQUIRE(first_failure(world.made()).ok());
      REQUIRE(run_calls(world, {kLargeCall}).ok());
      const auto statuses = world.run(
          [&](Communicator& comm) -> Status { return comm.rank() == 2 ? Status() : run_one(comm, kLargeCall); });
      for (const int rank : {0, 1, 3, 4}) {
        CHECK(statuses[static_cast<size_t>(rank)].code() == rondeTimedOut);
        CHECK_THAT(statuses[static_cast<size_t>(rank)].message(),
                   Catch::Contains("for rank 2, which has not called it"));
      }
    }
  }
}

TEST_CASE("a rank that has left is named at once to who still needs it, whoever holds the meeting point") {
  for (const Way& way : all_ways()) {
    for (const bool real_root : {false, true}) {
      for (const int leaver : {0, 2}) {
        CAPTURE(way.transport, way.algorithm, real_root, leaver);
        WorldOptions options = world_of(3, way.transport, way.algorithm);
        options.real_root = real_root;
        World world(options);
        REQUIRE(first_failure(world.made()).ok());
        REQUIRE(run_calls(world, {kLargeCall, kLargeCall}).ok());
        const Time begin = Clock::now();
        const auto statuses = in_threads(3, [&](int rank) -> Status {
          if (rank != leaver) return run_one(world[rank], kLargeCall);
          world.destroy(leaver);
          return {};
        });
        CHECK(Clock::now() - begin < Milliseconds(3000));
        for (int rank = 0; rank < 3; ++rank) {
          if (rank == leaver) continue;
          const Status& status = statuses[static_cast<size_t>(rank)];
          CHECK(status.code() == rondePeerLost);
          CHECK_THAT(status.message(), Catch::Contains("rank " + std::to_string(leaver)) &&
                                           Catch::Contains("has left") && Catch::Contains("number 3"));
        }
      }
    }
  }
}

TEST_CASE("ranks may leave while others are still in the last operation") {
  for (const Way& way : all_ways()) {
    CAPTURE(way.transport, way.algorithm);
    for (int i = 0; i < 5; ++i) {
      World world(world_of(4, way.transport, way.algorithm));
      REQUIRE(first_failure(world.made()).ok());
      const auto statuses = in_threads(4, [&](int rank) -> Status {
        const Status status = run_one(world[rank], kLargeCall);
        world.destroy(rank);
        return status;
      });
      CHECK(first_failure(statuses).ok());
    }
  }
}

TEST_CASE("after finalize no operation starts, and no other rank sees a failure") {
  World world(world_of(2, "auto", "auto"));
  REQUIRE(first_failure(world.made()).ok());
  REQUIRE(run_calls(world, {kLargeCall}).ok());
  CHECK(world[0].finalize().ok());
  CHECK(world[0].finalize().ok());
  CHECK(run_one(world[0], kLargeCall).code() == rondeInvalidUsage);
  CHECK(world[1].first_error().ok());
}

}  // namespace ronde::testing
