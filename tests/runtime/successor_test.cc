// What follows a communicator: all that are left go on with what has started, or none does.
#include "runtime/successor.h"

#include <catch2/catch.hpp>
#include <functional>
#include <thread>

namespace ronde {
namespace {

constexpr uint32_t kRanks = 4;

// The control planes of four ranks of one process, each rank with a thread of its own while each() runs.
class World {
 public:
  World() {
    std::vector<Bytes> facts;
    for (uint32_t rank = 0; rank < kRanks; ++rank) {
      ControlOptions options;
      options.rank = rank;
      options.nranks = kRanks;
      options.within_process = true;
      auto control = Control::enter(table_, loop_, options);
      REQUIRE(control.ok());
      befores_[rank] = {std::move(*control), Secret{}, rank, kRanks, nullptr};
      facts.push_back(befores_[rank].control->facts());
    }
    const std::vector<ByteView> views{facts.begin(), facts.end()};
    for (const Predecessor& before : befores_) REQUIRE(before.control->connect(views, limit(), nullptr).ok());
  }

  static Deadline limit() { return Deadline::after(Milliseconds(10'000)); }

  [[nodiscard]] Result<Succession> agree(uint32_t rank, const std::set<uint32_t>& without) {
    RendezvousOptions meeting;
    meeting.socket_ifname = "lo";
    return agree_on_succession(loop_, befores_[rank], without, meeting, limit());
  }
  [[nodiscard]] Status start(uint32_t rank, const std::set<uint32_t>& without, const Succession& agreed,
                             const Status& started) const {
    StartAgreement everywhere(befores_[rank], without);
    if (started.ok()) return everywhere.reach(agreed.members, limit(), nullptr);
    everywhere.refuse(started);
    return started;
  }
  [[nodiscard]] const Predecessor& before(uint32_t rank) const { return befores_[rank]; }
  void die(uint32_t rank) { befores_[rank].control.reset(); }

  template <typename Step>
  static std::vector<Status> each(const std::vector<uint32_t>& ranks, Step step) {
    std::vector<Status> results(kRanks);
    std::vector<std::thread> threads;
    for (const uint32_t rank : ranks) threads.emplace_back([&, rank] { results[rank] = step(rank); });
    for (std::thread& thread : threads) thread.join();
    return results;
  }

 private:
  EventLoop loop_;
  ControlTable table_;
  std::array<Predecessor, kRanks> befores_;
};

}  // namespace

TEST_CASE("what has started on all that are left is what all go on with") {
  World world;
  world.die(2);
  const auto results = World::each({0, 1, 3}, [&](uint32_t rank) -> Status {
    const Result<Succession> agreed = world.agree(rank, {});
    if (!agreed.ok()) return agreed.status();
    if (agreed->members != std::vector<uint32_t>{0, 1, 3}) return {rondeInternalError, "other members"};
    return world.start(rank, {}, *agreed, Status());
  });
  for (const Status& result : results) CHECK(result.message() == "");
}

TEST_CASE("what has not started on one rank nobody goes on with, and all can try again") {
  World world;
  const std::set<uint32_t> without{0};  // which lives, and is in nobody's way
  const auto results = World::each({1, 2, 3}, [&](uint32_t rank) -> Status {
    const Result<Succession> agreed = world.agree(rank, without);
    if (!agreed.ok()) return agreed.status();
    return world.start(rank, without, *agreed, rank == 3 ? Status(rondeTimedOut, "no way to rank 1") : Status());
  });
  CHECK(results[3].code() == rondeTimedOut);
  for (const uint32_t rank : {1, 2}) {
    CHECK(results[rank].code() == rondeRemoteError);
    CHECK(results[rank].message() == "rank 3 could not start the new communicator: no way to rank 1");
  }
  for (const Status& again : World::each({1, 2, 3}, [&](uint32_t rank) -> Status {
         const Result<Succession> agreed = world.agree(rank, without);
         return agreed.ok() ? world.start(rank, without, *agreed, Status()) : agreed.status();
       }))
    CHECK(again.message() == "");
}

TEST_CASE("a rank that dies between the start and the word about it takes the start with it, on all") {
  World world;
  const auto results = World::each({0, 1, 2, 3}, [&](uint32_t rank) -> Status {
    const Result<Succession> agreed = world.agree(rank, {});
    if (!agreed.ok() || rank == 0) {
      if (rank == 0) world.die(0);
      return agreed.status();
    }
    return world.start(rank, {}, *agreed, Status());
  });
  CHECK(results[0].message() == "");
  for (const uint32_t rank : {1, 2, 3}) {
    CHECK(results[rank].code() == rondePeerLost);
    CHECK_THAT(results[rank].message(), Catch::Contains("rank 0 ") && Catch::Contains("call rondeCommShrink again"));
  }
}

TEST_CASE("a rank that is thrown out of its start refuses, and is in step with the others afterwards") {
  World world;
  const auto results = World::each({0, 1, 2, 3}, [&](uint32_t rank) -> Status {
    const Result<Succession> agreed = world.agree(rank, {});
    if (!agreed.ok()) return agreed.status();
    if (rank == 2) {
      const std::set<uint32_t> without;
      const StartAgreement left(world.before(rank), without);  // as by an exception
      return {};
    }
    return world.start(rank, {}, *agreed, Status());
  });
  for (const uint32_t rank : {0, 1, 3})
    CHECK_THAT(results[rank].message(),
               Catch::StartsWith("rank 2 could not start") && Catch::Contains("an exception ended it"));
  for (const Status& again : World::each({0, 1, 2, 3}, [&](uint32_t rank) -> Status {
         const Result<Succession> agreed = world.agree(rank, {});
         return agreed.ok() ? world.start(rank, {}, *agreed, Status()) : agreed.status();
       }))
    CHECK(again.message() == "");
}

TEST_CASE("a rank whose user has aborted says that it has given up") {
  World world;
  const auto results = World::each({0, 1, 2, 3}, [&](uint32_t rank) -> Status {
    const Result<Succession> agreed = world.agree(rank, {});
    if (!agreed.ok()) return agreed.status();
    return world.start(rank, {}, *agreed, rank == 1 ? Status(rondeAborted, "by its user") : Status());
  });
  for (const uint32_t rank : {0, 2, 3}) {
    CHECK(results[rank].code() == rondeRemoteError);
    CHECK(results[rank].message() == "rank 1 has given up rondeCommShrink");
  }
  CHECK(results[1].code() == rondeAborted);
}

}  // namespace ronde
