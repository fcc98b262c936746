// All-reduce over links that delay, split and reorder: results do not change.
#include <catch2/catch.hpp>
#include <string>

#include "runtime/all_reduce_model.h"
#include "support/fault_transport.h"
#include "transports/built_in.h"

namespace ronde::testing {
namespace {

void check_worlds(const std::string& transport, const std::string& algorithm) {
  const Faults kinds[] = {{.seed = 21, .delays = 3},
                          {.seed = 22, .reorders = true},
                          {.seed = 23, .delays = 2, .splits = true, .reorders = true}};
  for (const Faults& faults : kinds) {
    for (const int nranks : {2, 3, 5}) {
      CAPTURE(faults.seed, nranks);
      WorldOptions options;
      options.nranks = nranks;
      options.settings = {{"RONDE_TRANSPORT", transport}, {"RONDE_ALGO", algorithm}};
      options.transports = [&] { return with_faults(built_in_transports(), faults); };
      World world(options);
      const Status made = first_failure(world.made());
      INFO(made.message());
      REQUIRE(made.ok());
      const Status status =
          run_calls(world, mixed_calls(nranks, faults.seed, nranks == 3 && faults.seed == 23 ? 300'001 : 40'000));
      INFO(status.message());
      CHECK(status.ok());
    }
  }
}

}  // namespace

TEST_CASE("faulty links in a process, ring") { check_worlds("inproc", "ring"); }
TEST_CASE("faulty links in a process, star") { check_worlds("inproc", "star"); }
TEST_CASE("faulty links in shared memory, ring") { check_worlds("shm", "ring"); }
TEST_CASE("faulty links over TCP, ring") { check_worlds("tcp", "ring"); }
TEST_CASE("faulty links over TCP, star") { check_worlds("tcp", "star"); }

}  // namespace ronde::testing
