// The agreement on who goes on, step by step. (Deaths at every step: tests/model/shrink.pml and control_world_test.cc.)
#include "control/shrink.h"

#include <catch2/catch.hpp>

namespace ronde {
namespace {

const Time kNow = Time() + std::chrono::hours(1);

// Ranks whose words reach all others, and whose answers come back, once deliver() is called.
struct Ranks {
  explicit Ranks(uint32_t nranks) {
    for (uint32_t rank = 0; rank < nranks; ++rank) all.emplace_back(rank, nranks);
    alive.assign(nranks, true);
  }

  void kill(uint32_t rank) {
    alive[rank] = false;
    for (uint32_t other = 0; other < all.size(); ++other)
      if (alive[other]) all[other].gone(rank, kNow);
  }
  void begin(std::initializer_list<uint32_t> ranks) {
    for (const uint32_t rank : ranks) all[rank].begin({}, kNow);
  }

  // One word of one rank to the ranks named.
  void say(uint32_t from, const Bytes& word, const std::vector<uint32_t>& to) {
    ++words;
    for (const uint32_t rank : to) {
      if (rank == from || !alive[rank]) continue;
      Reader reader(word);
      ShrinkQuestion question;
      ShrinkCommit commit;
      if (reader.number<WordKind>() == WordKind::shrink_question) {
        REQUIRE(decode(reader, question));
        all[rank].asked(from, words, question, kNow);
      } else {
        REQUIRE(decode(reader, commit));
        all[rank].committed(commit, kNow);
      }
    }
  }
  void deliver() {
    for (bool more = true; more;) {
      more = false;
      for (uint32_t from = 0; from < all.size(); ++from) {
        if (!alive[from]) continue;
        for (const Bytes& word : all[from].take_words()) say(from, word, everybody()), more = true;
        for (const Shrink::Reply& reply : all[from].take_replies())
          if (alive[reply.origin]) all[reply.origin].answered(from, reply.answer, kNow), more = true;
        if (all[from].wants_meeting()) all[from].meet_at(Bytes{std::byte(from)}, kNow), more = true;
      }
    }
  }
  [[nodiscard]] std::vector<uint32_t> everybody() const {
    std::vector<uint32_t> ranks;
    for (uint32_t rank = 0; rank < all.size(); ++rank) ranks.push_back(rank);
    return ranks;
  }
  [[nodiscard]] std::vector<uint32_t> members(uint32_t rank) const {
    REQUIRE(all[rank].decision() != nullptr);
    CHECK(all[rank].decision()->status.message() == "");
    return all[rank].decision()->members;
  }

  std::vector<Shrink> all;
  std::vector<bool> alive;
  uint32_t words = 0;
};

using Members = std::vector<uint32_t>;

}  // namespace

TEST_CASE("shrink: all that are left go on, once all have called it") {
  Ranks ranks(5);
  ranks.kill(2);
  ranks.begin({0, 1, 4});
  ranks.deliver();
  CHECK(ranks.all[0].decision() == nullptr);
  CHECK(ranks.all[0].missing() == Members{3});
  ranks.all[0].advance(kNow + Milliseconds(300));  // with the next question all hear whom it waits for
  ranks.deliver();
  CHECK(ranks.all[4].missing() == Members{3});
  ranks.begin({3});
  ranks.deliver();
  for (const uint32_t rank : {0u, 1u, 3u, 4u}) {
    CHECK(ranks.members(rank) == Members{0, 1, 3, 4});
    CHECK(ranks.all[rank].decision()->meeting == Bytes{std::byte(0)});
  }
}

TEST_CASE("shrink: one rank that is left goes on alone") {
  Ranks ranks(2);
  ranks.kill(0);
  ranks.begin({1});
  ranks.deliver();
  CHECK(ranks.members(1) == Members{1});
}

TEST_CASE("shrink: the next rank takes over from one that dies, and repeats what was decided") {
  Ranks ranks(4);
  ranks.begin({0, 1, 2, 3});
  const std::vector<Bytes> question = ranks.all[0].take_words();
  REQUIRE(question.size() == 1);
  ranks.say(0, question[0], ranks.everybody());
  for (const uint32_t rank : {1u, 2u, 3u})
    for (const Shrink::Reply& reply : ranks.all[rank].take_replies()) ranks.all[0].answered(rank, reply.answer, kNow);
  REQUIRE(ranks.all[0].wants_meeting());
  ranks.all[0].meet_at(Bytes{std::byte(77)}, kNow);
  const std::vector<Bytes> commit = ranks.all[0].take_words();
  REQUIRE(commit.size() == 1);
  const bool one_has_heard = GENERATE(true, false);
  if (one_has_heard) ranks.say(0, commit[0], {3});
  ranks.kill(0);
  ranks.deliver();
  for (const uint32_t rank : {1u, 2u, 3u})
    CHECK(ranks.members(rank) == (one_has_heard ? Members{0, 1, 2, 3} : Members{1, 2, 3}));
  // What comes too late has no effect.
  ranks.say(0, commit[0], {1, 2});
  CHECK(ranks.members(2) == ranks.members(3));
}

TEST_CASE("shrink: what was decided under a lower ballot than the promised one is not heard") {
  Ranks ranks(3);
  ranks.begin({0, 1, 2});
  ranks.all[2].asked(1, 1, {1, {7, 1}, {}}, kNow);
  ranks.all[2].committed({1, {1, 0}, {{}, {0, 1, 2}, {}}}, kNow);
  CHECK(ranks.all[2].active());
  ranks.all[2].committed({1, {7, 1}, {{}, {0, 1, 2}, {}}}, kNow);
  CHECK_FALSE(ranks.all[2].active());
}

TEST_CASE("shrink: ranks of a list do not go on, and hear so if they ask") {
  Ranks ranks(3);
  ranks.all[0].begin({1}, kNow);
  ranks.all[2].begin({1}, kNow);
  ranks.deliver();
  CHECK(ranks.members(0) == Members{0, 2});
  CHECK(ranks.members(2) == Members{0, 2});
  ranks.begin({1});
  CHECK(ranks.members(1) == Members{0, 2});
}

TEST_CASE("shrink: a rank that the others have excluded cannot stop them, however often it calls") {
  const uint32_t late = GENERATE(0u, 1u, 2u);  // how many of the others begin after it has given up
  Ranks ranks(3);
  const auto others_begin = [&](uint32_t from, uint32_t to) {
    for (uint32_t rank = from; rank < to; ++rank) ranks.all[rank].begin({0}, kNow);
  };
  others_begin(1, 3 - late);
  ranks.begin({0});
  ranks.deliver();
  ranks.begin({0});
  ranks.deliver();
  if (GENERATE(false, true)) ranks.kill(0);
  others_begin(3 - late, 3);
  ranks.deliver();
  for (int i = 1; i <= 3; ++i) {
    for (Shrink& rank : ranks.all) rank.advance(kNow + i * Milliseconds(300));
    ranks.deliver();
  }
  CHECK(ranks.members(1) == Members{1, 2});
  CHECK(ranks.members(2) == Members{1, 2});
}

TEST_CASE("shrink: a rank that only others exclude is told") {
  Ranks ranks(3);
  ranks.begin({0, 1});
  ranks.all[2].begin({1}, kNow);
  ranks.deliver();
  ranks.all[0].advance(kNow + Milliseconds(300));
  ranks.deliver();
  CHECK(ranks.members(0) == Members{0, 2});
  // It hears either that the others exclude it, or what they have decided.
  REQUIRE(ranks.all[1].decision() != nullptr);
  const ShrinkDecision& heard = *ranks.all[1].decision();
  CHECK((heard.status.code() == rondeInvalidUsage || heard.members == Members{0, 2}));
}

TEST_CASE("shrink: without a place to meet nobody goes on, and all may try again") {
  Ranks ranks(3);
  ranks.begin({0, 1, 2});
  ranks.say(0, ranks.all[0].take_words()[0], ranks.everybody());
  for (const uint32_t rank : {1u, 2u})
    for (const Shrink::Reply& reply : ranks.all[rank].take_replies()) ranks.all[0].answered(rank, reply.answer, kNow);
  ranks.all[0].meet_at(Status(rondeSystemError, "no port"), kNow);
  ranks.deliver();
  for (const Shrink& rank : ranks.all) CHECK(rank.decision()->status.message() == "no port");
  ranks.begin({2, 1, 0});
  ranks.deliver();
  for (const uint32_t rank : {0u, 1u, 2u}) CHECK(ranks.members(rank) == Members{0, 1, 2});
}

TEST_CASE("shrink: who gives up tells so when it is asked, or asks itself") {
  const uint32_t who = GENERATE(0u, 1u);
  Ranks ranks(3);
  ranks.begin({0, 1});
  ranks.deliver();
  ranks.all[who].give_up({rondeTimedOut, "waited for long"}, kNow);
  ranks.begin({2});
  ranks.deliver();
  for (const Shrink& rank : ranks.all) {
    REQUIRE(rank.decision() != nullptr);
    CHECK(rank.decision()->status.code() == rondeTimedOut);
  }
}

TEST_CASE("shrink: who begins another one takes part in the last one until that has ended") {
  const uint32_t impatient = GENERATE(0u, 1u);
  const bool rank_0_dies = impatient == 1 && GENERATE(false, true);
  Ranks ranks(3);
  ranks.begin({0, 1});
  ranks.deliver();
  ranks.begin({impatient});  // again: 2 does not come
  ranks.deliver();
  CHECK(ranks.all[impatient].begun() == 2);
  CHECK(ranks.all[impatient].decision(1) == nullptr);
  if (rank_0_dies) ranks.kill(0);
  ranks.begin({2});
  ranks.deliver();
  for (uint32_t rank = rank_0_dies ? 1 : 0; rank < 3; ++rank) {
    REQUIRE(ranks.all[rank].decision(1) != nullptr);
    CHECK_THAT(ranks.all[rank].decision(1)->status.message(), Catch::Contains("has begun another shrink"));
    if (rank != impatient) ranks.begin({rank});
  }
  ranks.deliver();
  for (uint32_t rank = rank_0_dies ? 1 : 0; rank < 3; ++rank)
    CHECK(ranks.members(rank) == (rank_0_dies ? Members{1, 2} : Members{0, 1, 2}));
}

TEST_CASE("shrink: who does not come holds up neither the last one nor the next once it is in the list") {
  Ranks ranks(3);
  ranks.begin({0, 1});
  ranks.deliver();
  for (const uint32_t rank : {0u, 1u}) ranks.all[rank].begin({2}, kNow);
  ranks.deliver();
  for (const uint32_t rank : {0u, 1u}) {
    CHECK_FALSE(ranks.all[rank].decision(1)->status.ok());
    CHECK(ranks.members(rank) == Members{0, 1});
  }
}

TEST_CASE("shrink: who hears that it is excluded says so, and nobody waits for it") {
  Ranks ranks(3);
  ranks.begin({2});
  ranks.all[2].begin({0}, kNow);  // it does not wait for 0 any more, which 1 does not know
  ranks.begin({0});
  if (GENERATE(false, true)) ranks.deliver();
  ranks.begin({1});
  ranks.deliver();
  CHECK(ranks.all[0].decision()->status.code() == rondeInvalidUsage);
  for (const uint32_t rank : {1u, 2u}) {
    REQUIRE(ranks.all[rank].decision(1) != nullptr);
    CHECK_FALSE(ranks.all[rank].decision(1)->status.ok());
  }
}

TEST_CASE("shrink: nobody waits for one that is cut off") {
  Ranks ranks(8);  // neighbours of 0: 1, 2, 4, 6, 7; of 3: 1, 2, 4, 5, 7
  for (const uint32_t rank : {1u, 2u, 4u, 5u, 7u})
    ranks.all[0].gone(rank, kNow);  // it has not heard yet that 3 is dead
  for (const uint32_t rank : {1u, 2u, 3u, 4u, 5u, 7u}) {
    ranks.alive[rank] = false;
    ranks.all[6].gone(rank, kNow);
  }
  ranks.begin({0, 6});
  ranks.deliver();
  CHECK(ranks.all[0].decision()->status.code() == rondePeerUnreachable);
  CHECK(ranks.members(6) == Members{6});
}

TEST_CASE("shrink: who is cut off and ends by itself does not overrule what was decided") {
  Ranks ranks(8);
  for (const uint32_t rank : {1u, 2u, 4u, 6u, 7u}) ranks.all[0].gone(rank, kNow);  // no way from 0 to 3 and 5
  ranks.begin({0});
  REQUIRE(ranks.all[0].decision()->status.code() == rondePeerUnreachable);
  ranks.all[0].asked(3, 9, {1, {4, 3}, {}, {}}, kNow);
  const auto replies = ranks.all[0].take_replies();
  REQUIRE(replies.size() == 1);
  CHECK_FALSE(replies[0].answer.decision);
  CHECK(replies[0].answer.promised == Ballot{4, 3});
  CHECK(replies[0].answer.refusal->code() == rondePeerUnreachable);
}

TEST_CASE("shrink: ranks that no control connection joins any more cannot agree") {
  Ranks ranks(8);  // neighbours of 0: 1, 2, 4, 6, 7; of 3: 1, 2, 4, 5, 7
  for (const uint32_t rank : {1u, 2u, 4u, 6u, 7u}) ranks.kill(rank);
  ranks.begin({0});
  REQUIRE(ranks.all[0].decision() != nullptr);
  CHECK(ranks.all[0].decision()->status.code() == rondePeerUnreachable);
  CHECK(ranks.all[0].decision()->status.message().find("ranks 3 and 5") != std::string::npos);
}

}  // namespace ronde
