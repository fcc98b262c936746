#include "base/host.h"

#include <unistd.h>

#include <catch2/catch.hpp>

namespace ronde {

TEST_CASE("a stat line with any name") {
  const std::string rest = " S 20 30 40 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 777 1000 10\n";
  for (const std::string name : {"sh", "", "a b", "x) S 1 (y", "((", "R 1 2"}) {
    const auto stat = parse_process_stat("10 (" + name + ")" + rest);
    REQUIRE(stat.has_value());
    CHECK(*stat == ProcessStat{10, 20, 30, 'S', 777, name});
  }
  for (const std::string text : {"", "10", "10 (sh", "10 (sh) S", "x (sh) S 20 30", "10 () ", ") 10 ("}) {
    CHECK_FALSE(parse_process_stat(text));
  }
}

TEST_CASE("the stat of this process and of none") {
  const ProcessStat own = process_stat("self");
  CHECK(own.pid == getpid());
  CHECK(own.parent == getppid());
  CHECK(own.group == getpgrp());
  CHECK(own.start_time > 0);
  CHECK(own.name.substr(0, 9) == "host_test");
  CHECK(process_stat(std::to_string(getpid())) == process_stat("self"));
  CHECK(process_stat("0") == ProcessStat{});
}

}  // namespace ronde
