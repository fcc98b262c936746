#include "topology/cpus.h"

#include <sched.h>

#include <catch2/catch.hpp>
#include <thread>

using ronde::topology::CpuAllowance;
using ronde::topology::usable_cpus;

TEST_CASE("usable CPUs are at least one and at most what the machine has") {
  const CpuAllowance own = CpuAllowance::of_this_process();
  CHECK(usable_cpus({&own, 1}) >= 1);
  CHECK(usable_cpus({&own, 1}) <= static_cast<int>(std::max(1u, std::thread::hardware_concurrency())));
  CHECK(usable_cpus({}) == 1);
}

TEST_CASE("a thread that is bound to one CPU may use one") {
  int found = 0;
  std::thread([&found] {  // a thread of its own: the binding must not stay
    cpu_set_t set;
    sched_getaffinity(0, sizeof set, &set);
    int first = 0;
    while (CPU_ISSET(first, &set) == 0) ++first;
    CPU_ZERO(&set);
    CPU_SET(first, &set);
    if (sched_setaffinity(0, sizeof set, &set) != 0) return;
    const CpuAllowance own = CpuAllowance::of_this_process();
    found = usable_cpus({&own, 1});
  })
      .join();
  CHECK(found == 1);
}

TEST_CASE("processes with CPUs of their own have all of them together") {
  const std::vector<CpuAllowance> bound = {{{1}, 0}, {{2}, 0}, {{0, 1}, 0}};
  CHECK(usable_cpus(bound) == 3);
  const std::vector<CpuAllowance> same = {{{3}, 0}, {{3}, 0}};
  CHECK(usable_cpus(same) == 2);
}

TEST_CASE("the smallest quota limits") {
  const std::vector<CpuAllowance> limited = {{{0xff}, 2}, {{0xff}, 0}};
  CHECK(usable_cpus(limited) == 2);
}
