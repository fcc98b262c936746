// All-reduce of whole worlds, by each algorithm over each transport: results are exact and the same on all ranks.
#include <catch2/catch.hpp>
#include <string>

#include "runtime/all_reduce_model.h"
#include "runtime/world_checks.h"

namespace ronde::testing {
namespace {

constexpr size_t kAnyCount = 1 << 20;
constexpr size_t kMiddleCount = 40'000;

void check_world(const WorldOptions& options, size_t turn, size_t largest_count) {
  check_calls(options,
              [&](World& world) { return run_calls(world, mixed_calls(options.nranks, turn, largest_count)); });
}

void check_worlds(const std::string& transport, const std::string& algorithm) {
  size_t turn = 0;
  for (const int nranks : {1, 2, 3, 4, 5, 8}) {
    WorldOptions options;
    options.nranks = nranks;
    options.settings = {{"RONDE_TRANSPORT", transport}, {"RONDE_ALGO", algorithm}};
    check_world(options, turn, nranks == 3 || nranks == 8 ? kAnyCount : kMiddleCount);
    turn += 5;
  }
}

void check_counters_from(uint32_t start) {
  WorldOptions options;
  options.nranks = 3;
  options.counters_start = start;
  for (const std::string algorithm : {"auto", "one_shot", "two_shot", "ring", "star"}) {
    CAPTURE(algorithm);
    options.settings = {{"RONDE_TRANSPORT", "inproc"}, {"RONDE_ALGO", algorithm}};
    check_world(options, start % 7, kMiddleCount);
  }
  options.settings = {{"RONDE_TRANSPORT", "tcp"}, {"RONDE_TCP_CONNECTIONS", "2"}};
  check_world(options, 3, kMiddleCount);
}

}  // namespace

TEST_CASE("all-reduce in a process, auto") { check_worlds("inproc", "auto"); }
TEST_CASE("all-reduce in a process, one-shot") { check_worlds("inproc", "one_shot"); }
TEST_CASE("all-reduce in a process, two-shot") { check_worlds("inproc", "two_shot"); }
TEST_CASE("all-reduce in a process, ring") { check_worlds("inproc", "ring"); }
TEST_CASE("all-reduce in a process, star") { check_worlds("inproc", "star"); }
TEST_CASE("all-reduce in shared memory, auto") { check_worlds("shm", "auto"); }
TEST_CASE("all-reduce in shared memory, one-shot") { check_worlds("shm", "one_shot"); }
TEST_CASE("all-reduce in shared memory, two-shot") { check_worlds("shm", "two_shot"); }
TEST_CASE("all-reduce in shared memory, ring") { check_worlds("shm", "ring"); }
TEST_CASE("all-reduce in shared memory, star") { check_worlds("shm", "star"); }
TEST_CASE("all-reduce over TCP, auto") { check_worlds("tcp", "auto"); }
TEST_CASE("all-reduce over TCP, ring") { check_worlds("tcp", "ring"); }
TEST_CASE("all-reduce over TCP, star") { check_worlds("tcp", "star"); }

TEST_CASE("all-reduce over several TCP connections a link") {
  WorldOptions options;
  options.nranks = 3;
  options.settings = {{"RONDE_TRANSPORT", "tcp"}, {"RONDE_TCP_CONNECTIONS", "3"}};
  check_world(options, 0, kAnyCount);
}

TEST_CASE("all-reduce of ranks that met at a root") {
  for (const std::string transport : {"auto", "tcp"}) {
    CAPTURE(transport);
    WorldOptions options;
    options.nranks = 3;
    options.real_root = true;
    options.settings = {{"RONDE_TRANSPORT", transport}};
    check_world(options, 1, kMiddleCount);
  }
}

TEST_CASE("all-reduce with counters that pass the middle of 32 bits") { check_counters_from(0x7ffffff0u); }
TEST_CASE("all-reduce with counters that pass the end of 32 bits") { check_counters_from(0xfffffff0u); }

TEST_CASE("all-reduce of sleepers loses no wake-up") {
  for (const std::string transport : {"inproc", "tcp"}) {
    CAPTURE(transport);
    WorldOptions options;
    options.nranks = 3;
    options.settings = {{"RONDE_TRANSPORT", transport}, {"RONDE_SPIN", "off"}};
    check_world(options, 2, kMiddleCount);
  }
}

TEST_CASE("the ring over TCP moves 2 (n - 1) / n of the buffer, each way") {
  WorldOptions options;
  options.nranks = 4;
  options.settings = {{"RONDE_TRANSPORT", "tcp"}, {"RONDE_ALGO", "ring"}};
  World world(options);
  REQUIRE(first_failure(world.made()).ok());
  constexpr size_t kCount = 4096;
  REQUIRE(run_calls(world, {{rondeFloat32, rondeSum, kCount, false, 0}}).ok());
  for (int rank = 0; rank < 4; ++rank) {
    unsigned long long sent = 0;
    unsigned long long received = 0;
    for (const TransportTraffic& traffic : world[rank].traffic()) {
      CHECK(traffic.transport == "tcp");
      sent += traffic.sent.payload;
      received += traffic.received.payload;
    }
    CHECK(sent == 2 * 3 * kCount);
    CHECK(received == 2 * 3 * kCount);
  }
}

}  // namespace ronde::testing
