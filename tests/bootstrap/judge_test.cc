// The judge in virtual time: who has left, who disagrees, who is late.
#include "bootstrap/judge.h"

#include <catch2/catch.hpp>

namespace ronde {
namespace {

const Time kStart = Time() + std::chrono::hours(1);

Judge judge_of(uint32_t nranks) {
  return Judge(nranks, [](uint32_t rank) { return "rank " + std::to_string(rank) + " (pid 7)"; });
}

CallNote call(uint32_t sequence, const std::string& text = "A") {
  return {sequence, static_cast<uint32_t>(std::hash<std::string>()(text)), text};
}

std::string verdict_of(Judge& judge) {
  const std::optional<Status> verdict = judge.take_verdict();
  return verdict ? std::to_string(verdict->code()) + " " + verdict->message() : "";
}

std::vector<uint32_t> asked(Judge& judge) {
  std::vector<uint32_t> ranks;
  for (const Judge::Question& question : judge.take_questions()) ranks.push_back(question.rank);
  return ranks;
}

}  // namespace

TEST_CASE("ranks that wait in the same operation are left alone") {
  Judge judge = judge_of(3);
  for (uint32_t rank = 0; rank < 3; ++rank) judge.waiting(rank, call(5), false, kStart);
  judge.advance(kStart + Milliseconds(60'000));
  CHECK(verdict_of(judge).empty());
  CHECK(asked(judge).empty());
  CHECK(judge.next_deadline().time() == Time::max());
}

TEST_CASE("two that wait in different calls of one number: the others are asked, and all calls are told") {
  Judge judge = judge_of(5);
  judge.waiting(3, call(7, "AllReduce (float32, sum, 10 elements)"), false, kStart);
  judge.waiting(0, call(7, "AllReduce (float32, sum, 12 elements)"), false, kStart);
  CHECK(verdict_of(judge).empty());
  CHECK(asked(judge) == std::vector<uint32_t>{1, 2, 3, 4});
  judge.answered(3, 7, {7, call(7, "AllReduce (float32, sum, 10 elements)")});
  judge.answered(4, 7, {7, call(7, "AllReduce (float32, sum, 12 elements)")});
  judge.answered(1, 7, {8, call(7, "AllReduce (float32, sum, 12 elements)")});
  CHECK(verdict_of(judge).empty());
  SECTION("the last one has not called it") { judge.answered(2, 7, {6, std::nullopt}); }
  SECTION("the last one does not answer") { judge.advance(judge.next_deadline().time()); }
  CHECK_THAT(
      verdict_of(judge),
      Catch::StartsWith("102 the ranks called different things as operation number 7: ranks 0, 1 and 4: AllReduce "
                        "(float32, sum, 12 elements); rank 3: AllReduce (float32, sum, 10 elements). "));
  CHECK(verdict_of(judge).empty());  // once
}

TEST_CASE("a dispute that only an answer shows is found") {
  Judge judge = judge_of(2);
  judge.waiting(1, call(3, "A"), true, kStart);
  CHECK(asked(judge) == std::vector<uint32_t>{0});
  judge.answered(0, 3, {4, call(3, "B")});
  CHECK_THAT(verdict_of(judge), Catch::Contains("rank 0: B; rank 1: A"));
}

TEST_CASE("who has left before an operation that another one waits in is named") {
  Judge judge = judge_of(3);
  SECTION("left first") {
    judge.left(1, 3);
    judge.waiting(0, call(3), false, kStart);  // rank 1 has taken part in this one
    CHECK(verdict_of(judge).empty());
    judge.waiting(0, call(4, "AllReduce (int8, max, 1 elements)"), false, kStart);
  }
  SECTION("waited first") {
    judge.waiting(0, call(4, "AllReduce (int8, max, 1 elements)"), false, kStart);
    judge.left(1, 3);
  }
  CHECK_THAT(verdict_of(judge),
             Catch::StartsWith("100 rank 1 (pid 7) has left") && Catch::Contains("after operation number 3") &&
                 Catch::Contains("rank 0 waits for it in AllReduce (int8, max, 1 elements) number 4"));
}

TEST_CASE("numbers are compared beyond the overflow of 32 bits") {
  Judge judge = judge_of(2);
  judge.left(1, 0xffffffff);
  judge.waiting(0, call(0xffffffff), false, kStart);
  CHECK(verdict_of(judge).empty());
  judge.waiting(0, call(0), false, kStart);
  CHECK_FALSE(verdict_of(judge).empty());
}

TEST_CASE("who is late is told to who asks: behind, or silent") {
  Judge judge = judge_of(5);
  judge.waiting(4, call(9), false, kStart);
  judge.waiting(0, call(9), true, kStart);
  CHECK(asked(judge) == std::vector<uint32_t>{1, 2, 3, 4});
  judge.answered(4, 9, {9, call(9)});
  judge.answered(1, 9, {8, std::nullopt});
  judge.answered(2, 9, {9, call(9)});
  CHECK(judge.take_notices().empty());
  judge.advance(judge.next_deadline().time());
  const std::vector<Judge::Notice> notices = judge.take_notices();
  REQUIRE(notices.size() == 1);
  CHECK(notices[0].rank == 0);
  CHECK(notices[0].note.sequence == 9);
  CHECK(notices[0].note.behind == std::vector<uint32_t>{1});
  CHECK(notices[0].note.silent == std::vector<uint32_t>{3});
  CHECK(verdict_of(judge).empty());
}

TEST_CASE("all answers are in: nobody waits for the time limit") {
  Judge judge = judge_of(3);
  judge.waiting(0, call(1), true, kStart);
  judge.answered(1, 1, {0, std::nullopt});
  judge.left(2, 1);  // a rank that leaves answers no more
  REQUIRE(judge.take_notices().size() == 1);
  CHECK(judge.next_deadline().time() == Time::max());
}

TEST_CASE("a second warning asks again") {
  Judge judge = judge_of(2);
  for (int i = 0; i < 2; ++i) {
    judge.waiting(0, call(1), true, kStart);
    CHECK(asked(judge) == std::vector<uint32_t>{1});
    judge.answered(1, 1, {0, std::nullopt});
    CHECK(judge.take_notices().size() == 1);
  }
}

TEST_CASE("a wait that has ended counts no more, however many operations follow") {
  Judge judge = judge_of(3);
  judge.waiting(0, call(5), false, kStart);
  judge.resumed(0);
  SECTION("a goodbye half the numbers later") { judge.left(1, 5 + (1u << 31) + 1); }
  SECTION("another call of the same number, all numbers later") { judge.waiting(1, call(5, "B"), false, kStart); }
  judge.advance(kStart + Milliseconds(60'000));
  CHECK(verdict_of(judge).empty());
}

TEST_CASE("an answer about an earlier call does not hide in which one a rank waits") {
  Judge judge = judge_of(3);
  judge.waiting(0, call(8), false, kStart);
  judge.waiting(1, call(7), true, kStart);
  judge.answered(0, 7, {8, call(7)});
  judge.left(2, 7);
  CHECK_THAT(verdict_of(judge), Catch::Contains("rank 2 (pid 7) has left") && Catch::Contains("number 8"));
}

TEST_CASE("who told of a wait and is stopped since is silent, and who waits for it is no culprit") {
  Judge judge = judge_of(4);
  judge.waiting(2, call(6), false, kStart);  // and is stopped
  judge.waiting(1, call(6), false, kStart);  // waits for it
  judge.waiting(0, call(7), true, kStart);   // its part in 6 had ended
  judge.answered(1, 7, {6, std::nullopt});
  judge.answered(3, 7, {7, call(7)});
  judge.advance(judge.next_deadline().time());
  const std::vector<Judge::Notice> notices = judge.take_notices();
  REQUIRE(notices.size() == 1);
  CHECK(notices[0].note.behind.empty());
  CHECK(notices[0].note.silent == std::vector<uint32_t>{2});
}

TEST_CASE("a rank that asks again and again has one question open, and none after the verdict") {
  Judge judge = judge_of(3);
  for (uint32_t i = 1; i <= 1000; ++i) {
    judge.waiting(0, call(i), true, kStart + Milliseconds(i));
    CHECK(judge.next_deadline().time() == kStart + Milliseconds(i + 400));  // that of the newest alone
  }
  judge.left(1, 0);
  CHECK_FALSE(verdict_of(judge).empty());
  static_cast<void>(asked(judge));
  judge.waiting(2, call(1), true, kStart);
  CHECK(asked(judge).empty());
}

TEST_CASE("ranks that there are not, and answers to nothing, change nothing") {
  Judge judge = judge_of(2);
  judge.waiting(7, call(1), true, kStart);
  judge.left(7, 1);
  judge.answered(7, 1, {});
  judge.answered(1, 1, {});
  CHECK(asked(judge).empty());
  CHECK(verdict_of(judge).empty());
}

}  // namespace ronde
