// Root and members as state machines, joined by queues, in virtual time: no sockets, no threads.
#include <catch2/catch.hpp>
#include <deque>
#include <functional>
#include <memory>
#include <string>

#include "bootstrap/member_machine.h"
#include "bootstrap/root_machine.h"

namespace ronde {
namespace {

const Status kEndOfFile(rondePeerLost, "ended without saying goodbye");

// One root and any number of members. A member's number is its connection, and its rank unless told otherwise.
class SimulatedMeeting {
 public:
  // root_process: equal to a member's number if the root lives in that member's process.
  explicit SimulatedMeeting(uint32_t nranks, uint32_t root_process = 999)
      : nranks_(nranks), root(process(root_process), Milliseconds(300'000), now) {}

  size_t add(uint32_t rank, uint32_t nranks = 0) {
    const JoinMessage join{nranks == 0 ? nranks_ : nranks, rank, process(static_cast<uint32_t>(members.size()))};
    members.push_back({std::make_unique<MemberMachine>(join, "10.0.0.1:7", Milliseconds(10'000)), true, 0});
    Claim claim;
    claim.client_rank = rank;
    root.opened(members.size() - 1, claim);
    return members.size() - 1;
  }
  void add_all() {
    for (uint32_t rank = 0; rank < nranks_; ++rank) add(rank);
    settle();
  }
  MemberMachine& operator[](size_t number) { return *members[number].machine; }

  void begin(size_t number, const std::string& part, Milliseconds limit = Milliseconds(60'000)) {
    (*this)[number].begin_exchange("test", std::as_bytes(std::span(part)), now, Deadline::at(now + limit));
  }

  // Its process has died.
  void kill(size_t number) {
    members[number].connected = false;
    root.closed(number, kEndOfFile, now);
  }
  void kill_root() {
    for (Member& member : members)
      if (member.connected) member.machine->closed(kEndOfFile);
  }

  // Carries messages until none is under way.
  void settle() {
    for (bool moved = true; moved;) {
      moved = false;
      for (size_t number = 0; number < members.size(); ++number) {
        for (const uint32_t sequence : members[number].machine->take_questions())
          members[number].machine->answer(sequence, {members[number].begun, std::nullopt});
        for (const SharedMessage& message : members[number].machine->take_messages()) {
          if (members[number].connected) root.received(number, message->bytes, now);
          moved = true;
        }
      }
      for (const RootMachine::Outgoing& outgoing : root.take_messages()) {
        if (members[outgoing.connection].connected)
          members[outgoing.connection].machine->received(outgoing.message->bytes, now);
        moved = true;
      }
      for (const ConnectionId connection : root.take_closes()) {
        if (std::exchange(members[connection].connected, false)) members[connection].machine->closed(kEndOfFile);
        moved = true;
      }
    }
  }

  // Lets time pass in the steps that the machines ask for.
  void pass(Milliseconds span) {
    settle();
    const Time end = now + span;
    while (true) {
      Deadline next = root.next_deadline();
      for (const Member& member : members) next = next.earlier(member.machine->next_deadline());
      const bool more = next.time() <= end;
      if (more && next.time() <= now) ++spins;
      now = more ? std::max(now, next.time()) : end;
      root.advance(now);
      for (const Member& member : members) member.machine->advance(now);
      settle();
      if (!more || spins > 10) return;
    }
  }

  struct Member {
    std::unique_ptr<MemberMachine> machine;
    bool connected = false;
    uint32_t begun = 0;  // operations, for its answers
  };

 private:
  const uint32_t nranks_;

 public:
  static ProcessIdentity process(uint32_t number) { return {"node-a", 4000 + number, number}; }

  Time now = Time() + std::chrono::hours(1);
  RootMachine root;
  std::vector<Member> members;
  int spins = 0;  // a machine that asks for a time that has passed
};

std::string text_of(const Bytes& bytes) { return {reinterpret_cast<const char*>(bytes.data()), bytes.size()}; }

std::string message_of(const std::optional<Status>& failure) { return failure ? failure->message() : ""; }

}  // namespace

TEST_CASE("All parts reach everybody in rank order, round after round, in any order of coming") {
  const uint32_t nranks = GENERATE(1u, 2u, 3u, 16u, 100u);
  SimulatedMeeting meeting(nranks);
  meeting.add_all();
  for (int round = 0; round < 3; ++round) {
    for (uint32_t i = nranks; i-- > 0;) {
      CHECK(meeting[i].joined());
      meeting.begin(i, std::string(i, 'x') + std::to_string(round));
      if (i % 2 == 0) meeting.settle();
    }
    meeting.settle();
    for (uint32_t i = 0; i < nranks; ++i) {
      REQUIRE(meeting[i].exchange_ended());
      const auto table = meeting[i].take_result();
      REQUIRE(table.ok());
      REQUIRE(table->size() == nranks);
      for (uint32_t j = 0; j < nranks; ++j) CHECK(text_of((*table)[j]) == std::string(j, 'x') + std::to_string(round));
    }
  }
  for (uint32_t i = 0; i < nranks; ++i) {
    CHECK_FALSE(meeting.root.finished());
    meeting[i].leave(0);
    meeting.settle();
    CHECK_FALSE(meeting[i].failure());
  }
  CHECK(meeting.root.finished());
}

TEST_CASE("case_12_late: who comes late is waited for, and named in a warning meanwhile") {
  SimulatedMeeting meeting(4);
  for (uint32_t rank = 0; rank < 3; ++rank) meeting.add(rank);
  meeting.settle();
  for (size_t i = 0; i < 3; ++i) meeting.begin(i, "part", Milliseconds(300'000));
  meeting.pass(Milliseconds(45'000));
  for (size_t i = 0; i < 3; ++i) {
    const auto warnings = meeting[i].take_warnings();
    REQUIRE(warnings.size() == 4);  // at 10, 20, 30 and 40 s
    CHECK_THAT(warnings[0], Catch::Contains("10.0 s") && Catch::Contains("rank 3"));
  }
  meeting.add(3);
  meeting.settle();
  meeting.begin(3, "part");
  meeting.settle();
  for (size_t i = 0; i < 4; ++i) CHECK(meeting[i].take_result().ok());
  CHECK(meeting.spins == 0);
}

TEST_CASE("case_12_missing: at the limit all name the missing rank") {
  SimulatedMeeting meeting(4);
  for (const uint32_t rank : {0, 1, 3}) meeting.add(rank);
  meeting.settle();
  // They did not start at the same moment.
  for (size_t i = 0; i < 3; ++i) {
    meeting.begin(i, "part", Milliseconds(5'000));
    meeting.pass(Milliseconds(300));
  }
  meeting.pass(Milliseconds(5'000));
  for (size_t i = 0; i < 3; ++i) {
    REQUIRE(meeting[i].exchange_ended());
    const auto result = meeting[i].take_result();
    REQUIRE_FALSE(result.ok());
    CHECK(result.status().code() == rondeTimedOut);
    CHECK_THAT(result.status().message(), Catch::Contains("for rank 2") && Catch::Contains("5.0 s"));
  }
  // Who comes later is told the same, as long as the root lingers.
  const size_t late = meeting.add(2);
  meeting.settle();
  CHECK_THAT(message_of(meeting[late].failure()), Catch::Contains("for rank 2"));
}

TEST_CASE("case_12_missing: a root whose ranks have given up ends, late ones or not") {
  SimulatedMeeting meeting(2);
  meeting.add(0);
  meeting.settle();
  meeting.begin(0, "part", Milliseconds(1'000));
  meeting.pass(Milliseconds(1'000));
  CHECK_FALSE(meeting.root.finished());
  meeting.kill(0);
  CHECK_FALSE(meeting.root.finished());
  meeting.pass(Milliseconds(5'000));
  CHECK(meeting.root.finished());
  CHECK(meeting.spins == 0);
}

TEST_CASE("A root to which nobody comes gives up") {
  SimulatedMeeting meeting(2);
  meeting.pass(Milliseconds(299'999));
  CHECK_FALSE(meeting.root.finished());
  meeting.pass(Milliseconds(1));
  CHECK(meeting.root.finished());
}

TEST_CASE("A rank that has joined but does not take part is named too") {
  SimulatedMeeting meeting(3);
  meeting.add_all();
  meeting.begin(0, "part", Milliseconds(100));
  meeting.begin(2, "part", Milliseconds(100));
  meeting.pass(Milliseconds(100));
  CHECK_THAT(meeting[0].take_result().status().message(), Catch::Contains("for rank 1:"));
  CHECK_THAT(message_of(meeting[1].failure()), Catch::Contains("rank 0 (pid 4000 on host node-a)"));
}

TEST_CASE("case_09_rank_twice: a rank claimed twice at start-up fails all, by name") {
  SimulatedMeeting meeting(3);
  meeting.add(0);
  meeting.add(1);
  const size_t second = meeting.add(1);
  meeting.settle();
  for (const size_t i : {size_t{0}, size_t{1}, second}) {
    REQUIRE(meeting[i].failure());
    CHECK(meeting[i].failure()->code() == rondeInvalidUsage);
    CHECK_THAT(message_of(meeting[i].failure()), Catch::Contains("rank 1 was claimed twice") &&
                                                     Catch::Contains("pid 4001") && Catch::Contains("pid 4002"));
  }
  const size_t last = meeting.add(2);
  meeting.settle();
  CHECK_THAT(message_of(meeting[last].failure()), Catch::Contains("rank 1 was claimed twice"));
  CHECK_FALSE(meeting[second].joined());
}

TEST_CASE("case_09_sizes: different numbers of ranks fail all, with both numbers") {
  SimulatedMeeting meeting(3);
  meeting.add(0);
  meeting.add(1, 4);
  meeting.settle();
  for (size_t i = 0; i < 2; ++i)
    CHECK_THAT(message_of(meeting[i].failure()), Catch::Contains("one of 3") && Catch::Contains("one of 4"));
  const size_t last = meeting.add(2);
  meeting.settle();
  CHECK_THAT(message_of(meeting[last].failure()), Catch::Contains("one of 4"));
  for (size_t i = 0; i < 3; ++i) meeting.kill(i);
  CHECK(meeting.root.finished());  // all know: nobody to linger for
}

TEST_CASE("case_09_id_used: an id that is in use refuses further ranks, and its communicator goes on") {
  SimulatedMeeting meeting(2);
  meeting.add_all();
  const size_t again = meeting.add(1);
  meeting.settle();
  CHECK_THAT(message_of(meeting[again].failure()), Catch::Contains("used already"));
  CHECK_FALSE(meeting[0].failure());
  meeting.begin(0, "a");
  meeting.begin(1, "b");
  meeting.settle();
  CHECK(meeting[0].take_result().ok());
  CHECK(meeting[1].take_result().ok());
}

TEST_CASE("A rank out of range, or with a proof for another rank, is refused alone") {
  SimulatedMeeting meeting(2);
  meeting.add(0);
  const size_t outside = meeting.add(2);
  meeting.settle();
  CHECK_THAT(message_of(meeting[outside].failure()), Catch::Contains("rank 2 is none of 0..1"));
  CHECK_FALSE(meeting[0].failure());

  RootMachine root(SimulatedMeeting::process(1), Milliseconds(1000), meeting.now);
  Claim claim;
  claim.client_rank = 1;
  root.opened(5, claim);
  root.received(5, encode(JoinMessage{2, 0, SimulatedMeeting::process(2)})->bytes, meeting.now);
  CHECK(root.take_messages().size() == 1);
  CHECK(root.take_closes() == std::vector<ConnectionId>{5});
}

TEST_CASE("A member that is lost fails all others, by name, in each phase") {
  const int phase = GENERATE(range(0, 4));
  SimulatedMeeting meeting(4);
  for (uint32_t rank = 0; rank < 3; ++rank) meeting.add(rank);
  meeting.settle();
  if (phase > 0) {
    meeting.add(3);
    meeting.settle();
  }
  if (phase > 1) meeting.begin(0, "part");
  if (phase > 2) {
    for (size_t i = 1; i < 4; ++i) meeting.begin(i, "part");
  }
  meeting.settle();
  meeting.kill(1);
  meeting.settle();
  for (size_t i = 0; i < meeting.members.size(); ++i) {
    if (i == 1) continue;
    REQUIRE(meeting[i].failure());
    CHECK(meeting[i].failure()->code() == rondePeerLost);
    CHECK(message_of(meeting[i].failure()) == "rank 1 (pid 4001 on host node-a) ended without saying goodbye");
  }
  if (phase == 2) CHECK(meeting[0].take_result().status().code() == rondePeerLost);
  if (phase == 3) CHECK(meeting[0].take_result().ok());  // it had its table before
  if (phase == 0) {
    const size_t late = meeting.add(3);
    meeting.settle();
    CHECK_THAT(message_of(meeting[late].failure()), Catch::Contains("rank 1 (pid 4001"));
  }
  // Later exchanges return the same.
  meeting.begin(0, "more");
  CHECK(meeting[0].take_result().status().code() == rondePeerLost);
  for (size_t i = 0; i < meeting.members.size(); ++i) meeting.kill(i);
  CHECK(meeting.root.finished());
}

TEST_CASE("A silent member is reported as that") {
  SimulatedMeeting meeting(2);
  meeting.add_all();
  meeting.root.closed(1, {rondePeerUnreachable, "is silent: Connection timed out (errno 110)"}, meeting.now);
  meeting.settle();
  CHECK(meeting[0].failure()->code() == rondePeerUnreachable);
  CHECK_THAT(message_of(meeting[0].failure()), Catch::Contains("rank 1") && Catch::Contains("silent"));
}

TEST_CASE("A report reaches the others once, with code, rank and text, and its sender's end adds nothing") {
  SimulatedMeeting meeting(3);
  meeting.add_all();
  meeting.begin(0, "part");
  meeting.begin(2, "part");
  meeting.settle();
  meeting[2].report({rondeSystemError, "out of memory"});
  meeting[2].report({rondeAborted, "second"});
  CHECK(meeting[2].take_result().status().message() == "out of memory");  // a blocked exchange returns
  meeting.settle();
  meeting.kill(2);
  meeting.settle();
  for (const size_t i : {0, 1}) {
    CHECK(meeting[i].failure()->code() == rondeSystemError);
    CHECK(message_of(meeting[i].failure()) == "rank 2 (pid 4002 on host node-a): out of memory");
  }
  CHECK_FALSE(meeting[2].failure());
}

TEST_CASE("A goodbye is no failure, unless somebody still needs that rank") {
  SimulatedMeeting meeting(3);
  meeting.add_all();
  meeting[1].leave(0);
  meeting[1].leave(0);
  meeting.settle();
  CHECK_FALSE(meeting[0].failure());
  meeting.begin(0, "part");
  meeting.settle();
  CHECK_THAT(meeting[0].take_result().status().message(), Catch::Contains("rank 1") && Catch::Contains("left"));
  CHECK_THAT(message_of(meeting[2].failure()), Catch::Contains("left"));
}

TEST_CASE("A goodbye while others wait, or before all have come, fails them") {
  SimulatedMeeting meeting(3);
  meeting.add(0);
  meeting.add(1);
  meeting.settle();
  SECTION("before all have come") {}
  SECTION("while others wait") {
    meeting.add(2);
    meeting.settle();
    meeting.begin(0, "part");
    meeting.settle();
  }
  meeting[1].leave(0);
  meeting.settle();
  CHECK(meeting[0].failure()->code() == rondeRemoteError);
  CHECK_THAT(message_of(meeting[0].failure()), Catch::Contains("rank 1 (pid 4001") && Catch::Contains("left"));
}

TEST_CASE("The end of the root's process is a loss, named after the rank that lived there") {
  SimulatedMeeting meeting(2, 0);
  meeting.add_all();
  SECTION("before the first table") {
    meeting.kill_root();
    CHECK(message_of(meeting[1].failure()) ==
          "the process that holds the meeting point (10.0.0.1:7) ended without saying goodbye");
  }
  SECTION("after it") {
    meeting.begin(0, "a");
    meeting.begin(1, "b");
    meeting.settle();
    meeting.kill_root();
    CHECK_THAT(message_of(meeting[1].failure()), Catch::StartsWith("rank 0 (pid 4000 on host node-a), whose process"));
  }
  CHECK(meeting[1].failure()->code() == rondePeerLost);
}

TEST_CASE("A root that says goodbye is no failure after start-up, but one during it") {
  SimulatedMeeting meeting(2);
  meeting.add_all();
  const bool waiting = GENERATE(false, true);
  if (waiting) meeting.begin(0, "part");
  meeting.settle();
  meeting.root.end();
  meeting.settle();
  CHECK(meeting.root.finished());
  CHECK(meeting[0].failure().has_value() == waiting);
  CHECK_FALSE(meeting[1].failure());
  CHECK(meeting[1].ended());
  meeting.begin(1, "part");
  CHECK(meeting[1].take_result().status().code() == rondePeerLost);
}

TEST_CASE("The ranks of the root's process that have not left end with it") {
  SimulatedMeeting meeting(3, 0);  // rank 0 lives in the process of the root
  meeting.add_all();
  const bool left = GENERATE(false, true);
  if (left) meeting[0].leave(0);
  meeting.settle();
  meeting.root.end();
  meeting.settle();
  CHECK(meeting.root.finished());
  for (const size_t other : {1, 2}) {
    CHECK(meeting[other].failure().has_value() != left);
    if (left) continue;
    CHECK(meeting[other].failure()->code() == rondePeerLost);
    CHECK_THAT(message_of(meeting[other].failure()), Catch::StartsWith("rank 0 (pid 4000 on host node-a)"));
  }
}

TEST_CASE("A message that makes no sense fails, and does no harm") {
  SimulatedMeeting meeting(2);
  meeting.add_all();
  uint32_t state = 7;
  for (int round = 0; round < 5000; ++round) {
    Bytes noise((state >> 8) % 40);
    for (std::byte& b : noise) b = static_cast<std::byte>((state = state * 1664525 + 1013904223) >> 24);
    if (!noise.empty()) noise[0] = static_cast<std::byte>((state >> 16) % 26);
    RootMachine root(SimulatedMeeting::process(1), Milliseconds(1000), meeting.now);
    root.opened(1, Claim{});
    const uint32_t nranks = 1 + round % 2;  // of one rank: complete
    root.received(1, encode(JoinMessage{nranks, 0, SimulatedMeeting::process(2)})->bytes, meeting.now);
    root.received(1, noise, meeting.now);
    root.opened(2, Claim{});
    root.received(2, noise, meeting.now);
    MemberMachine member(JoinMessage{2, 0, SimulatedMeeting::process(2)}, "x", Milliseconds(1000));
    member.received(noise, meeting.now);
  }
  meeting.root.received(0, Bytes(1, std::byte{200}), meeting.now);
  meeting.settle();
  CHECK_THAT(message_of(meeting[1].failure()), Catch::Contains("rank 0") && Catch::Contains("does not know"));
}

TEST_CASE("Who waits learns who is late, and nobody else is told") {
  SimulatedMeeting meeting(4);
  meeting.add_all();
  meeting.members[1].begun = 6;
  meeting.members[2].begun = 7;
  meeting.members[3].connected = false;  // stopped: its answer does not come
  meeting[0].waiting({7, 1, "A"}, true);
  meeting.pass(Milliseconds(1000));
  const std::vector<LateNote> notes = meeting[0].take_late_notes();
  REQUIRE(notes.size() == 1);
  CHECK(notes[0].behind == std::vector<uint32_t>{1});
  CHECK(notes[0].silent == std::vector<uint32_t>{3});
  for (const size_t other : {1, 2, 3}) CHECK(meeting[other].take_late_notes().empty());
  CHECK_FALSE(meeting[0].failure());
  CHECK(meeting.spins == 0);
}

TEST_CASE("Calls that differ are a failure of all that lists them") {
  SimulatedMeeting meeting(3);
  meeting.add_all();
  meeting[0].waiting({7, 1, "A"}, false);
  meeting[2].waiting({7, 2, "B"}, false);
  meeting.pass(Milliseconds(1000));
  for (const size_t rank : {0, 1, 2}) {
    REQUIRE(meeting[rank].failure());
    CHECK(meeting[rank].failure()->code() == rondeMismatch);
    CHECK_THAT(message_of(meeting[rank].failure()), Catch::Contains("rank 0: A; rank 2: B"));
  }
}

TEST_CASE("Who is lost is told as a number, before the failure") {
  SimulatedMeeting meeting(3, 0);  // rank 0 lives in the process of the root
  meeting.add_all();
  for (const size_t rank : {0, 1, 2}) meeting.begin(rank, "a");
  meeting.settle();
  meeting.kill(2);
  meeting.settle();
  CHECK(meeting[1].take_lost() == std::vector<uint32_t>{2});
  meeting.kill_root();
  CHECK(meeting[1].take_lost() == std::vector<uint32_t>{0});
}

TEST_CASE("Once the ranks of the root's process have left its end is no failure, and a wait for them is") {
  SimulatedMeeting meeting(3, 0);
  meeting.add_all();
  meeting[0].leave(4);
  meeting.settle();
  SECTION("the root goes on and judges") {}
  SECTION("the root's process has ended") { meeting.kill_root(); }
  CHECK_FALSE(meeting[1].failure());
  CHECK_FALSE(meeting[2].failure());
  meeting[1].waiting({4, 1, "A"}, false);
  meeting[1].resumed();
  meeting.settle();
  CHECK_FALSE(meeting[1].failure());
  meeting[1].waiting({5, 1, "A"}, false);
  meeting.settle();
  REQUIRE(meeting[1].failure());
  CHECK(meeting[1].failure()->code() == rondePeerLost);
  CHECK_THAT(message_of(meeting[1].failure()), Catch::Contains("rank 0") && Catch::Contains("has left") &&
                                                   Catch::Contains("operation number 4") &&
                                                   Catch::Contains("number 5"));
}

TEST_CASE("Ranks that there are not are refused, whoever names them") {
  MemberMachine member(JoinMessage{2, 0, SimulatedMeeting::process(2)}, "x", Milliseconds(1000));
  member.received(encode(LostMessage{{1, 7}})->bytes, Time());
  CHECK(member.take_lost().empty());
  CHECK(member.failure()->code() == rondeInternalError);
}

TEST_CASE("Lists of ranks are short") {
  CHECK(ranks_text({3}) == "rank 3");
  CHECK(ranks_text({1, 4}) == "ranks 1 and 4");
  CHECK(ranks_text({2, 3, 4, 5, 9, 12}) == "ranks 2-5, 9 and 12");
  CHECK(ranks_text({0, 1}) == "ranks 0 and 1");
  CHECK(ranks_text({}) == "no rank");
}

}  // namespace ronde
