// What the ranks of a meeting learn when one fails, leaves or talks nonsense.
#include "bootstrap/simulated_meeting.h"

namespace ronde {

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
  meeting[1].leave();
  meeting[1].leave();
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
  meeting[1].leave();
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
  if (left) meeting[0].leave();
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

}  // namespace ronde
