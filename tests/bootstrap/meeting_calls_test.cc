// What a meeting says of calls that wait: who is late, which differ, who has left too early.
#include "bootstrap/simulated_meeting.h"

namespace ronde {

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

}  // namespace ronde
