#include "topology/cpus.h"

#include <sched.h>

#include <catch2/catch.hpp>
#include <thread>

using ronde::topology::usable_cpus;

TEST_CASE("usable CPUs are at least one and at most what the machine has") {
  CHECK(usable_cpus() >= 1);
  CHECK(usable_cpus() <= static_cast<int>(std::max(1u, std::thread::hardware_concurrency())));
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
    if (sched_setaffinity(0, sizeof set, &set) == 0) found = usable_cpus();
  })
      .join();
  CHECK(found == 1);
}
