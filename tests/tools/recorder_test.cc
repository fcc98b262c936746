// What ronderun says of a process by its black box.
#include "ronderun/recorder.h"

#include <fcntl.h>
#include <unistd.h>

#include <catch2/catch.hpp>

#include "runtime/black_box.h"
#include "runtime/life_log.h"

namespace ronde::launcher {

TEST_CASE("each communicator of a process is named, with the place of the process in the job and in it") {
  const auto file = make_black_box({}, 3);
  REQUIRE(file.ok());
  BlackBox box(::fcntl(file->get(), F_DUPFD_CLOEXEC, 3));
  const auto world = box.area_for(0x42, 5, 8, "");
  const auto half = box.area_for(0x43, 1, 4, "half");
  const auto alone = box.area_for(0x44, 0, 1, "");
  for (const auto& area : {world, half, alone}) LifeLog(area).enter(black_box::Phase::working);

  const std::string process = "rank 5 (pid " + std::to_string(::getpid()) + "), ";
  const std::vector<std::string> expected = {
      process + "rank 5 of 8 in communicator 0000000000000042: before its first operation",
      process + "rank 1 of 4 in communicator 0000000000000043 'half': before its first operation"};
  CHECK(read_activities(5, *file) == expected);
}

TEST_CASE("of many communicators a few are told of, and that there are more") {
  const auto file = make_black_box({}, 3);
  REQUIRE(file.ok());
  BlackBox box(::fcntl(file->get(), F_DUPFD_CLOEXEC, 3));
  std::vector<std::shared_ptr<black_box::Area>> areas;
  for (uint64_t job = 1; job < 10; ++job) areas.push_back(box.area_for(job, 0, 2, ""));
  const auto lines = read_activities(3, *file);
  REQUIRE(lines.size() == 5);
  CHECK(lines.back() == "rank 3 has more communicators");
}

TEST_CASE("of a program without the library nothing is said") {
  const auto file = make_black_box({}, 3);
  REQUIRE(file.ok());
  CHECK(read_activities(0, *file).empty());
}

}  // namespace ronde::launcher
