#include "ronderun/process.h"

#include <unistd.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cerrno>

#include "ronderun/blame.h"
#include "ronderun/rank.h"

using namespace ronde::launcher;
using namespace std::chrono_literals;

TEST_CASE("descendants are found at any depth, zombies not") {
  const std::vector<ronde::ProcessStat> all{{1, 0, 1, 'S', 0}, {5, 1, 5, 'S', 0}, {6, 5, 6, 'S', 0}, {7, 6, 6, 'Z', 0},
                                            {8, 7, 6, 'S', 0}, {9, 1, 9, 'S', 0}, {4, 9, 9, 'S', 0}};
  auto found = descendants_of(5, all);
  std::sort(found.begin(), found.end(), [](const auto& a, const auto& b) { return a.pid < b.pid; });
  REQUIRE(found.size() == 2);
  CHECK(found[0].pid == 6);
  CHECK(found[1].pid == 8);
  CHECK(descendants_of(4, all).empty());
  // Two snapshots of different moments can show a circle.
  CHECK(descendants_of(1, {{2, 3, 2, 'S', 0}, {3, 2, 2, 'S', 0}, {1, 2, 1, 'S', 0}}).empty());
  CHECK(descendants_of(2, {{2, 3, 2, 'S', 0}, {3, 2, 2, 'S', 0}}).size() <= 2);
}

TEST_CASE("programs are searched as execvp does") {
  CHECK(find_program("sh", "/no/such/folder:/bin").path == "/bin/sh");
  CHECK(find_program("/bin/sh", "").error == 0);
  CHECK(find_program("no-such-program", "/bin:/usr/bin").error == ENOENT);
  CHECK(find_program("./no-such-program", "/bin").error == ENOENT);
  CHECK(find_program("/tmp", "").error == EISDIR);
}

TEST_CASE("the environment of a rank") {
  const char* own[] = {"A=1", "RONDE_RANK=7", "B=2", nullptr};
  const auto merged = merge_environment(const_cast<char* const*>(own), {"B=3", "C=", "RONDE_ID_FD=9"});
  CHECK(merged == std::vector<std::string>{"A=1", "B=3", "C="});
}

TEST_CASE("who is to blame") {
  const ronde::Time start{};
  const auto exited = [](int rank, int code) { return RankEnd{rank, 100 + rank, "a", code << 8}; };
  const auto killed = [](int rank, int number) { return RankEnd{rank, 100 + rank, "a", number}; };

  Blame blame;
  CHECK_FALSE(blame.verdict(start + 1h));
  blame.add(exited(3, 1), start);
  CHECK_FALSE(blame.verdict(start + 199ms));
  SECTION("the first that failed") {
    blame.add(exited(1, 2), start + 100ms);
    CHECK(blame.verdict(start + 200ms)->rank == 3);
  }
  SECTION("but a death by signal comes first, and at once") {
    blame.add(exited(1, 2), start + 50ms);
    blame.add(killed(2, SIGSEGV), start + 100ms);
    CHECK(blame.verdict(start + 100ms)->rank == 2);
    CHECK(blame.verdict(start + 100ms)->exit_code() == 128 + SIGSEGV);
  }
  SECTION("an abort may be a consequence") {
    blame.add(killed(2, SIGABRT), start + 100ms);
    CHECK(blame.verdict(start + 200ms)->rank == 3);
  }
  CHECK(exited(2, 3).describe() == "rank 2 (pid 102 on a) ended with exit code 3");
  CHECK(killed(2, 9).describe() == "rank 2 (pid 102 on a) was killed by signal 9 (Killed)");
}
