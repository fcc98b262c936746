#include "ronderun/tally.h"

#include <catch2/catch.hpp>
#include <csignal>

using namespace ronde::launcher;

namespace {

RankEnd exited(int code) { return {0, 100, "a", code << 8, {}}; }
RankEnd killed(int number) { return {0, 100, "a", number, {}}; }

}  // namespace

TEST_CASE("ranks that were killed do not count if another one ended well") {
  Tally tally(3);
  tally.rank_ended(0, killed(SIGKILL));
  CHECK(tally.left() == 2);
  tally.rank_ended(0, exited(0));
  tally.rank_ended(1, killed(SIGSEGV));
  CHECK(tally.left() == 0);
  CHECK(tally.exit_code() == 0);
}

TEST_CASE("an error exit counts even so, the first one") {
  Tally tally(4);
  tally.rank_ended(0, killed(SIGKILL));
  tally.rank_ended(0, exited(3));
  tally.rank_ended(0, exited(4));
  tally.rank_ended(0, exited(0));
  CHECK(tally.exit_code() == 3);
}

TEST_CASE("where no rank ended well the first failure counts") {
  Tally tally(2);
  tally.rank_ended(0, killed(SIGKILL));
  tally.rank_ended(0, exited(3));
  CHECK(tally.exit_code() == 128 + SIGKILL);
}

TEST_CASE("a lost host takes with it the ranks that have not ended") {
  Tally tally(5);
  tally.rank_ended(2, exited(0));
  CHECK(tally.host_lost(2, 3) == 2);
  CHECK(tally.left() == 2);
  CHECK(tally.host_lost(2, 3) == 0);
  CHECK(tally.exit_code() == 0);
  tally.rank_ended(0, exited(0));
  tally.rank_ended(0, exited(0));
  CHECK(tally.left() == 0);

  Tally all_lost(2);
  CHECK(all_lost.host_lost(0, 2) == 2);
  CHECK(all_lost.exit_code() == 1);
}
