// Waits of sends and receives, in virtual time: whom they are for in truth, circles, ranks that have left.
#include <fmt/format.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <random>

#include "control/machines.h"
#include "control/wait_text.h"

namespace ronde {
namespace {

using testing::Machines;

constexpr WaitReason kLong = WaitReason::long_wait;
constexpr WaitReason kWarning = WaitReason::warning_due;
constexpr const char* kCircle = ": a circle: put sends and receives that depend on each other into one group";

CallNote send_to(uint32_t peer, uint32_t number = 1) {
  return {number, 0, fmt::format("Send (1 bytes to rank {})", peer), false, {peer}, {}};
}
CallNote receive_from(uint32_t peer, uint32_t number = 1) {
  return {number, 0, fmt::format("Recv (1 bytes from rank {})", peer), false, {}, {peer}};
}
CallNote group(std::vector<uint32_t> sends_to, std::vector<uint32_t> receives_from) {
  return {1, 0, "a group of Send and Recv (9 bytes)", false, std::move(sends_to), std::move(receives_from)};
}

// What a rank says in a warning about its wait: by the newest of the notes that concern it.
class Waits {
 public:
  explicit Waits(uint32_t nranks) : ranks(nranks), notes_(nranks) {}
  void wait(uint32_t rank, const CallNote& note, WaitReason reason = kLong) {
    waits_[rank] = note;
    ranks[rank].waiting(note, reason, ranks.now);
    ranks.settle();
    ranks.pass(Milliseconds(100));
  }
  std::string text(uint32_t rank) {
    const CallNote& wait = waits_.at(rank);
    for (LateNote& note : ranks[rank].take_late_notes())
      if (concerns(note, rank, wait.numbered, wait.sequence)) notes_[rank] = std::move(note);
    if (!notes_[rank]) return "nothing is known";
    return awaited_text(*notes_[rank], rank, wait.numbered, wait.sequence, "the next");
  }

  Machines ranks;

 private:
  std::map<uint32_t, CallNote> waits_;
  std::vector<std::optional<LateNote>> notes_;
};

}  // namespace

TEST_CASE("many ranks that have not called a collective are all named") {
  Waits waits(200);
  const CallNote sum = testing::call(5, "AllReduce (int8)");
  waits.ranks.calls[0][5] = sum;
  waits.wait(0, sum);
  CHECK(waits.text(0) == "ranks 1-199, which have not called it");
  for (uint32_t rank = 1; rank < 200; ++rank) waits.ranks.calls[rank][5] = sum;
  waits.ranks.pass(Milliseconds(9'000));
  waits.wait(0, sum, kWarning);
  CHECK(waits.text(0) == "the next (all ranks have called it)");
}

TEST_CASE("two ranks that both send first hear of the circle, whoever waits first") {
  const uint32_t first = GENERATE(0u, 1u);
  Waits waits(2);
  waits.wait(first, send_to(1 - first));
  CHECK(waits.text(first) == fmt::format("rank {}, which has not called the other part of it", 1 - first));
  waits.wait(1 - first, send_to(first, 7));
  for (const uint32_t rank : {0u, 1u}) {
    CHECK(waits.text(rank) == fmt::format("rank {}, which waits in Send (1 bytes to rank {}) for rank {}{}", 1 - rank,
                                          rank, rank, kCircle));
  }
  for (const uint32_t rank : {0u, 1u}) CHECK(waits.ranks.failure(rank).empty());
}

TEST_CASE("a circle of three, and a rank outside that waits for one of them") {
  Waits waits(5);
  waits.wait(4, receive_from(1));
  for (const uint32_t rank : {0u, 1u, 2u}) waits.wait(rank, send_to((rank + 1) % 3));
  waits.ranks.pass(Milliseconds(9'000));
  waits.wait(4, receive_from(1), kWarning);
  CHECK(waits.text(0) ==
        fmt::format("rank 1, which waits in Send (1 bytes to rank 2) for rank 2, which waits in Send (1 "
                    "bytes to rank 0) for rank 0{}",
                    kCircle));
  CHECK_THAT(waits.text(2), Catch::StartsWith("rank 0, which waits in") && Catch::EndsWith(kCircle));
  CHECK(waits.text(4) ==
        fmt::format("rank 1, which waits in Send (1 bytes to rank 2) for rank 2, which waits in Send (1 "
                    "bytes to rank 0) for rank 0, which waits in Send (1 bytes to rank 1) for rank 1{}",
                    kCircle));
}

TEST_CASE("a chain of waits ends at the rank that is late, or silent") {
  const bool is_stopped = GENERATE(false, true);
  Waits waits(6);
  waits.ranks.stopped[3] = is_stopped;
  waits.wait(2, receive_from(3));
  waits.wait(1, receive_from(2));
  waits.wait(0, receive_from(1));
  waits.ranks.pass(Milliseconds(500));
  const std::string end = is_stopped ? "rank 3, which does not answer (stopped, or out of reach)"
                                     : "rank 3, which has not called the other part of it";
  CHECK(waits.text(2) == end);
  CHECK(waits.text(0) ==
        "rank 1, which waits in Recv (1 bytes from rank 2) for rank 2, which waits in Recv (1 bytes from "
        "rank 3) for " +
            end);
}

TEST_CASE("a collective that waits for a rank that waits for a message of this one") {
  const bool collective_first = GENERATE(true, false);
  Waits waits(2);
  const CallNote sum = testing::call(5, "AllReduce (int8)");
  waits.ranks.calls[0][5] = sum;
  waits.ranks.calls[1][4] = testing::call(4);
  if (collective_first) waits.wait(0, sum);
  waits.wait(1, receive_from(0));
  if (!collective_first) waits.wait(0, sum);
  CHECK(waits.text(0) == fmt::format("rank 1, which waits in Recv (1 bytes from rank 0) for rank 0{}", kCircle));
  CHECK(waits.text(1) == fmt::format("rank 0, which waits in AllReduce (int8) number 5 for rank 1{}", kCircle));
  for (const uint32_t rank : {0u, 1u}) CHECK(waits.ranks.failure(rank).empty());
}

TEST_CASE("a message waits for a rank that waits in a collective for a late one") {
  Waits waits(3);
  const CallNote sum = testing::call(5, "AllReduce (int8)");
  waits.ranks.calls[1][5] = sum;
  for (const uint32_t rank : {0u, 2u}) waits.ranks.calls[rank][4] = testing::call(4);
  waits.wait(1, sum);
  waits.wait(0, receive_from(1));
  CHECK(waits.text(0) == "rank 1, which waits in AllReduce (int8) number 5 for rank 2, which has not called it");
  CHECK(waits.text(1) == "rank 2, which has not called it");  // rank 0 is a victim
}

TEST_CASE("ranks whose messages meet wait for the network, not for each other") {
  Waits waits(3);
  waits.wait(0, group({1}, {1}));
  waits.wait(1, group({0}, {0}));
  CHECK(waits.text(1) == "the next (the other part of it has been called)");
  // Also for one that is late, and for that alone.
  waits.wait(0, {2, 0, "a group of Send and Recv (9 bytes)", false, {1, 2}, {1}});
  CHECK(waits.text(0) == "rank 2, which has not called the other part of it");
  // One direction is not enough.
  waits.ranks[1].resumed();
  waits.wait(1, receive_from(0, 2));
  waits.wait(0, {3, 0, "a group of Send and Recv (9 bytes)", false, {1}, {1}}, kLong);
  CHECK_THAT(waits.text(0), Catch::StartsWith("rank 1, which waits in Recv (1 bytes from rank 0) for another rank"));
}

TEST_CASE("of a long circle the warning names the first ranks, and says that it goes on") {
  const uint32_t nranks = 12;
  Waits waits(nranks);
  for (uint32_t rank = 0; rank < nranks; ++rank) waits.wait(rank, send_to((rank + 1) % nranks));
  waits.ranks.pass(Milliseconds(9'000));
  waits.wait(3, send_to(4), kWarning);
  const std::string text = waits.text(3);
  CHECK_THAT(text, Catch::StartsWith("rank 4, which waits in Send (1 bytes to rank 5) for rank 5") &&
                       Catch::EndsWith("for rank 10, and so on" + std::string(kCircle)));
}

TEST_CASE("who has left is known to ranks that wait for its messages, and is no failure by itself") {
  const uint32_t nranks = GENERATE(2u, 16u);
  const uint32_t waiter = nranks == 2 ? 1u : 7u;  // of 16: no neighbour of rank 0
  Waits waits(nranks);
  waits.ranks[0].leave(3, waits.ranks.now);
  waits.ranks.settle();
  waits.wait(waiter, receive_from(0));
  waits.ranks.pass(Milliseconds(500));
  CHECK(waits.ranks[waiter].take_left() == std::vector<uint32_t>{0});
  CHECK(waits.ranks[waiter].take_left().empty());
  for (uint32_t rank = 1; rank < nranks; ++rank) CHECK(waits.ranks.failure(rank).empty());
}

TEST_CASE("who has left stays known when its neighbours have left, too") {
  Waits waits(16);
  waits.ranks[0].leave(3, waits.ranks.now);
  waits.ranks.settle();
  for (const uint32_t peer : control_neighbours(0, 16)) {
    waits.ranks[peer].leave(4, waits.ranks.now);
    waits.ranks.settle();
  }
  SECTION("for messages") {
    const std::vector<uint32_t> left = waits.ranks[7].take_left();
    CHECK(std::count(left.begin(), left.end(), 0u) == 1);
    CHECK(waits.ranks.failure(7).empty());
  }
  SECTION("for collectives") {
    waits.ranks.begin(7, testing::call(4), kLong);
    CHECK_THAT(waits.ranks.failure(7),
               Catch::StartsWith("100 rank 0 (pid 7) has left") && Catch::Contains("after operation number 3"));
  }
}

TEST_CASE("a wait for messages that has ended is nobody's any more") {
  Waits waits(2);
  waits.wait(0, send_to(1));
  waits.ranks[0].resumed();
  waits.wait(1, send_to(0));
  CHECK(waits.text(1) == "rank 0, which has not called the other part of it");
}

TEST_CASE("a circle of two is asked about by one rank, if the other one waits already") {
  Waits waits(2);
  waits.wait(0, send_to(1));
  waits.wait(1, send_to(0));
  waits.ranks.pass(Milliseconds(200));
  waits.ranks[0].waiting(send_to(1), kWarning, waits.ranks.now);
  CHECK(waits.ranks[0].take_messages().empty());  // it has just heard
}

TEST_CASE("notes and answers are what was written, as far as there is room") {
  std::vector<uint32_t> many(200);
  for (uint32_t i = 0; i < many.size(); ++i) many[i] = i;
  Answer answer;
  answer.wait = group(many, {3});
  answer.wait->description.assign(5'000, 'x');
  answer.whereabouts = {4, testing::call(4)};
  answer.departed = {{2, 9}};
  const Bytes bytes = encode(answer);
  CHECK(bytes.size() < most_control_bytes(2));
  Reader reader(bytes);
  reader.number<WordKind>();
  Answer read;
  REQUIRE(decode(reader, read));
  CHECK(read.wait->sends_to == std::vector<uint32_t>(many.begin(), many.begin() + kMostAwaited));
  CHECK(read.wait->receives_from == std::vector<uint32_t>{3});
  CHECK_FALSE(read.wait->numbered);
  CHECK(read.whereabouts.call->sequence == 4);
  LateNote note;
  note.waits.assign(40, {1, *answer.wait, many});
  const Bytes long_note = encode(note);
  CHECK(long_note.size() < most_control_bytes(2));
}

TEST_CASE("words about waits that are cut short or changed anywhere are refused, or do no harm") {
  std::mt19937 random(3);
  LateNote note{1, {1}, {}, false, {{0, send_to(1), {1}}, {1, send_to(0), {0}}}};
  Answer answer;
  answer.wait = send_to(0);
  const std::vector<Bytes> contents = {encode(note), encode_inquiry(send_to(0)), encode(answer)};
  for (size_t kind = 0; kind < contents.size(); ++kind) {
    const bool is_answer = kind == 2;
    for (size_t size = 0; size < contents[kind].size(); ++size) {
      Bytes payload = contents[kind];
      if (random() % 2 == 0)
        payload.resize(size);
      else
        payload[size] = static_cast<std::byte>(random());
      Waits waits(2);
      waits.wait(0, send_to(1));
      Writer message;
      message.number(static_cast<uint8_t>(is_answer ? 2 : 1)).number(uint32_t{is_answer ? 0u : 1u}).number(uint32_t{1});
      if (is_answer) message.number(uint32_t{1});
      message.raw(payload.data(), payload.size());
      waits.ranks[0].received(1, message.view(), waits.ranks.now);
      waits.ranks.settle();
      CHECK(waits.text(0).size() < 10'000);
    }
  }
}

}  // namespace ronde
