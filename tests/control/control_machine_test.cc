// Single rules of the control plane, in virtual time: who has left, who disagrees, who is late. All together:
// control_world_test.cc.
#include "control/control_machine.h"

#include <fmt/format.h>

#include <catch2/catch.hpp>

#include "control/machines.h"

namespace ronde {
namespace {

using testing::call;
using Ranks = testing::Machines;

const Status kEndOfFile(rondePeerLost, "ended without saying goodbye");

constexpr WaitReason kLong = WaitReason::long_wait;
constexpr WaitReason kWarning = WaitReason::warning_due;

}  // namespace

TEST_CASE("ranks that wait in the same operation are left alone") {
  Ranks ranks(3);
  for (uint32_t rank = 0; rank < 3; ++rank) ranks.begin(rank, call(5));
  for (uint32_t rank = 0; rank < 3; ++rank) ranks.begin(rank, call(5), kLong);
  ranks.pass(Milliseconds(60'000));
  for (uint32_t rank = 0; rank < 3; ++rank) {
    CHECK(ranks.failure(rank).empty());
    CHECK(ranks[rank].next_deadline().time() == Time::max());
  }
}

TEST_CASE("calls that differ are a failure of all that lists them") {
  const uint32_t odd = GENERATE(0u, 2u, 4u);
  const uint32_t asker = GENERATE(0u, 1u, 4u);
  Ranks ranks(5);
  for (uint32_t rank = 0; rank < 5; ++rank) ranks.begin(rank, call(7, rank == odd ? "B (12)" : "A (10)"));
  SECTION("all answer") {}
  SECTION("one has not called it") { ranks.calls[3].clear(); }
  SECTION("one is stopped") { ranks.stopped[3] = true; }
  ranks.begin(asker, ranks.calls[asker][7], kLong);
  ranks.pass(Milliseconds(500));
  for (uint32_t rank = 0; rank < 5; ++rank) {
    if (ranks.stopped[rank]) continue;
    CHECK_THAT(ranks.failure(rank),
               Catch::StartsWith("102 the ranks called different things as operation number 7: ") &&
                   Catch::Contains(fmt::format("rank {}: B (12)", odd)) && Catch::Contains(": A (10)"));
  }
}

TEST_CASE("a difference is told of the first call that was different") {
  const uint32_t begun = GENERATE(4u, 7u);  // by the odd one
  Ranks ranks(3);
  for (uint32_t number = 3; number <= 7; ++number) {
    for (const uint32_t rank : {0u, 1u, 2u}) {
      if (rank == 1 && number > begun) continue;
      CallNote note = call(number, rank == 1 && number == 4 ? "Broadcast" : "AllReduce");
      note.digest = number + (rank == 1 && number >= 4 ? 100 : 0);  // with all before it
      ranks.begin(rank, note);
    }
  }
  // Who is at another number finds it in its own.
  const uint32_t asker = begun == 7 ? 0 : 1;
  ranks.begin(asker, ranks.calls[asker][begun], kLong);
  if (GENERATE(false, true)) ranks[asker].resumed();
  ranks.settle();
  ranks.pass(Milliseconds(500));
  for (uint32_t rank = 0; rank < 3; ++rank)
    CHECK_THAT(ranks.failure(rank),
               Catch::Contains("operation number 4: ranks 0 and 2: AllReduce; rank 1: Broadcast."));
}

TEST_CASE("who asked before the odd one had called asks again on suspicion, at once") {
  Ranks ranks(2);
  ranks.begin(0, call(3, "A"), kLong);
  CHECK(ranks.late(0).behind == std::vector<uint32_t>{1});
  ranks.begin(1, call(3, "B"));
  ranks.begin(0, call(3, "A"), WaitReason::suspicion);
  CHECK_THAT(ranks.failure(0), Catch::Contains("rank 0: A; rank 1: B"));
  CHECK(ranks.failure(0) == ranks.failure(1));
}

TEST_CASE("an odd call of a rank that was stopped is found when it answers at last") {
  Ranks ranks(2);
  ranks.begin(1, call(3, "B"));
  ranks.begin(0, call(3, "A"));
  ranks[0].waiting(call(3, "A"), kLong, ranks.now);
  const std::vector<Flood::Outgoing> question = ranks[0].take_messages();
  ranks.pass(Milliseconds(500));
  CHECK(ranks.late(0).silent == std::vector<uint32_t>{1});
  ranks.now += Milliseconds(30'000);
  for (const Flood::Outgoing& outgoing : question) ranks[1].received(0, outgoing.message->bytes, ranks.now);
  ranks.settle();
  CHECK_THAT(ranks.failure(0), Catch::Contains("rank 0: A; rank 1: B"));
}

TEST_CASE("who has left before an operation that another one waits in is named, on all") {
  const uint32_t nranks = GENERATE(3u, 16u);
  const uint32_t gone = 1;
  const uint32_t waiter = nranks == 3 ? 0u : 7u;  // of 16: no neighbour of rank 1
  Ranks ranks(nranks);
  const CallNote note = call(4, "AllReduce (int8, max, 1 element)");
  SECTION("left first") {
    ranks[gone].leave(3, ranks.now);
    ranks.settle();
    ranks.begin(waiter, call(3), kLong);  // it has taken part in this one
    ranks.pass(Milliseconds(500));
    CHECK(ranks.failure(waiter).empty());
    ranks[waiter].resumed();
    ranks.begin(waiter, note, kLong);
  }
  SECTION("waited first") {
    ranks.begin(waiter, note, kLong);
    ranks[gone].leave(3, ranks.now);
    ranks.settle();
    ranks.begin(waiter, note, kWarning);
  }
  ranks.pass(Milliseconds(2000));
  ranks.begin(waiter, note, kWarning);
  for (uint32_t rank = 0; rank < nranks; ++rank) {
    if (rank == gone) continue;
    CHECK_THAT(
        ranks.failure(rank),
        Catch::StartsWith("100 rank 1 (pid 7) has left") && Catch::Contains("after operation number 3") &&
            Catch::Contains(fmt::format("rank {} waits for it in AllReduce (int8, max, 1 element) number 4", waiter)));
  }
}

TEST_CASE("numbers are compared beyond the overflow of 32 bits") {
  Ranks ranks(2);
  ranks[1].leave(0xffffffff, ranks.now);
  ranks.settle();
  ranks.begin(0, call(0xffffffff), kLong);
  CHECK(ranks.failure(0).empty());
  ranks[0].resumed();
  ranks.begin(0, call(0), kLong);
  CHECK_FALSE(ranks.failure(0).empty());
}

TEST_CASE("whom a wait is for is told: behind, or silent; who waits itself is a victim") {
  Ranks ranks(6);
  for (const uint32_t rank : {0u, 2u, 4u}) ranks.begin(rank, call(9));
  ranks.begin(1, call(8));
  ranks.begin(5, call(8));
  ranks[5].waiting(call(8), kLong, ranks.now);
  ranks.pass(Milliseconds(500));
  ranks.stopped[3] = true;
  ranks.begin(0, call(9), kWarning);
  ranks.pass(Milliseconds(450));
  for (const uint32_t rank : {0u, 4u}) {
    const LateNote note = ranks.late(rank);
    CHECK(note.sequence == 9);
    CHECK(note.behind == std::vector<uint32_t>{1});
    CHECK(note.silent == std::vector<uint32_t>{3});
  }
}

TEST_CASE("of many that wait one asks") {
  Ranks ranks(8);
  for (uint32_t rank = 0; rank < 7; ++rank) ranks.begin(rank, call(2));
  for (const WaitReason reason : {kLong, kWarning}) {
    int words = 0;
    for (uint32_t rank = 0; rank < 7; ++rank) {
      ranks[rank].waiting(call(2), reason, ranks.now);
      const auto messages = ranks[rank].take_messages();
      words += messages.empty() ? 0 : 1;
      for (const Flood::Outgoing& outgoing : messages)
        ranks[outgoing.peer].received(rank, outgoing.message->bytes, ranks.now);
      ranks.settle();
      ranks.pass(Milliseconds(1));
    }
    CHECK(words == 1);
    for (uint32_t rank = 0; rank < 8; ++rank) CHECK(ranks.late(rank).behind == std::vector<uint32_t>{7});
    ranks.pass(Milliseconds(10'000));
  }
}

TEST_CASE("an inquiry whose asker is stopped is made again by another one") {
  Ranks ranks(4);
  for (uint32_t rank = 0; rank < 3; ++rank) ranks.begin(rank, call(2));
  ranks[0].waiting(call(2), kLong, ranks.now);
  for (const Flood::Outgoing& outgoing : ranks[0].take_messages())
    ranks[outgoing.peer].received(0, outgoing.message->bytes, ranks.now);
  ranks.stopped[0] = true;
  ranks.begin(1, call(2), kLong);
  CHECK(ranks.late(1).sequence == 0);
  ranks.pass(Milliseconds(500));
  ranks.pass(Milliseconds(500));
  const LateNote note = ranks.late(1);
  CHECK(note.behind == std::vector<uint32_t>{3});
  CHECK(note.silent == std::vector<uint32_t>{0});
}

TEST_CASE("a wait that has ended counts no more, however many operations follow") {
  Ranks ranks(3);
  ranks.begin(0, call(5), kLong);
  ranks[0].resumed();
  SECTION("a goodbye half the numbers later") { ranks[1].leave(5 + (1u << 31) + 1, ranks.now); }
  SECTION("another call of the same number, all numbers later") {
    ranks.calls[0].clear();
    ranks.begin(1, call(5, "B"), kLong);
  }
  ranks.settle();
  ranks.pass(Milliseconds(60'000));
  for (const uint32_t rank : {0u, 2u}) CHECK(ranks.failure(rank).empty());
}

TEST_CASE("a death is told to all, with its number first") {
  const uint32_t nranks = GENERATE(2u, 16u);
  Ranks ranks(nranks);
  for (const uint32_t peer : control_neighbours(1, nranks)) ranks[peer].closed(1, kEndOfFile, ranks.now);
  ranks.settle();
  for (uint32_t rank = 0; rank < nranks; ++rank) {
    if (rank == 1) continue;
    CHECK(ranks[rank].take_lost() == std::vector<uint32_t>{1});
    CHECK(ranks.failure(rank) == "100 rank 1 (pid 7) ended without saying goodbye");
  }
}

TEST_CASE("a report reaches all others, once; the first failure stays") {
  Ranks ranks(9);
  ranks[4].report({rondeRemoteError, "aborted the communicator"});
  ranks[4].report({rondeSystemError, "second"});
  ranks.settle();
  for (const uint32_t peer : control_neighbours(1, 9)) ranks[peer].closed(1, kEndOfFile, ranks.now);
  ranks.settle();
  for (uint32_t rank = 0; rank < 9; ++rank) {
    if (rank == 1 || rank == 4) continue;
    CHECK(ranks.failure(rank) == "6 rank 4 (pid 7): aborted the communicator");
    CHECK(ranks[rank].take_lost() == std::vector<uint32_t>{1});
  }
}

TEST_CASE("a timer that was held up with its process gives the others their time") {
  Ranks ranks(2);
  ranks.stopped[1] = true;
  ranks.begin(0, call(1), kLong);
  ranks.pass(Milliseconds(30'000));
  CHECK(ranks.late(0).sequence == 0);
  ranks.pass(Milliseconds(400));
  CHECK(ranks.late(0).silent == std::vector<uint32_t>{1});
}

TEST_CASE("a message that makes no sense fails, and does no harm") {
  uint32_t state = 7;
  const auto chance = [&state] { return (state = state * 1664525 + 1013904223) >> 8; };
  int failures = 0;
  for (int round = 0; round < 20'000; ++round) {
    Bytes noise(chance() % 60);
    for (std::byte& b : noise) b = static_cast<std::byte>(chance());
    if (!noise.empty()) noise[0] = static_cast<std::byte>(chance() % 10);
    // A word of rank 1, or its answer to a word of rank 0, with anything in it.
    const bool is_answer = chance() % 2 == 1;
    Writer message;
    message.number(static_cast<uint8_t>(is_answer ? 2 : 1)).number(uint32_t{is_answer ? 0u : 1u}).number(uint32_t{1});
    if (is_answer) message.number(uint32_t{1});
    message.raw(noise.data(), noise.size());
    Ranks ranks(2);
    ranks.begin(0, call(1), kLong);
    if (chance() % 2 == 0) ranks[0].begin_shrink({}, ranks.now);
    ranks[0].received(1, message.view(), ranks.now);
    ranks.settle();
    failures += ranks.failure(0).empty() ? 0 : 1;
  }
  CHECK(failures > 10'000);  // most of it makes no sense
  Ranks ranks(2);
  ranks[0].received(1, Bytes(1, std::byte{200}), ranks.now);
  CHECK_THAT(ranks.failure(0), Catch::Contains("rank 1") && Catch::Contains("does not know"));
}

}  // namespace ronde
