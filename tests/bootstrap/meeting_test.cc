// How ranks meet: exchanges, who comes late or not at all, who is refused.
#include "bootstrap/simulated_meeting.h"

namespace ronde {

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
    meeting[i].leave();
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

TEST_CASE("Lists of ranks are short") {
  CHECK(ranks_text({3}) == "rank 3");
  CHECK(ranks_text({1, 4}) == "ranks 1 and 4");
  CHECK(ranks_text({2, 3, 4, 5, 9, 12}) == "ranks 2-5, 9 and 12");
  CHECK(ranks_text({0, 1}) == "ranks 0 and 1");
  CHECK(ranks_text({}) == "no rank");
}

}  // namespace ronde
