// Collectives of every kind over each transport: results are exact, nothing else is touched, and no byte too many
// moves.
#include <catch2/catch.hpp>
#include <string>

#include "runtime/collective_model.h"
#include "runtime/world_checks.h"

namespace ronde::testing {
namespace {

constexpr size_t kAnyCount = 1 << 20;
constexpr size_t kMiddleCount = 5'000;

void check_world(const WorldOptions& options, size_t turn, size_t largest_count) {
  check_calls(options, [&](World& world) {
    return run_collectives(world, mixed_collectives(options.nranks, turn, largest_count));
  });
}

void check_worlds(const std::string& transport, const std::string& algorithm) {
  size_t turn = 0;
  for (const int nranks : {1, 2, 3, 4, 5, 8}) {
    WorldOptions options;
    options.nranks = nranks;
    options.settings = {{"RONDE_TRANSPORT", transport}, {"RONDE_ALGO", algorithm}};
    check_world(options, turn, nranks == 3 ? kAnyCount : kMiddleCount);
    turn += 5;
  }
}

struct Moved {
  unsigned long long sent = 0;
  unsigned long long received = 0;
};

std::vector<Moved> moved_by(World& world) {
  std::vector<Moved> all;
  for (int rank = 0; rank < world.nranks(); ++rank) {
    Moved& moved = all.emplace_back();
    for (const TransportTraffic& traffic : world[rank].traffic()) {
      moved.sent += traffic.sent.payload;
      moved.received += traffic.received.payload;
    }
  }
  return all;
}

// Bytes of one call with blocks, or a buffer, of `bytes`: what leaves and what comes to a rank.
Moved least(Collective what, int rank, int root, int nranks, unsigned long long bytes) {
  const auto others = static_cast<unsigned long long>(nranks) - 1;
  const bool is_root = rank == root;
  switch (what) {
    case Collective::reduce_scatter:
    case Collective::all_gather:
    case Collective::all_to_all: return {others * bytes, others * bytes};
    case Collective::gather: return is_root ? Moved{0, others * bytes} : Moved{bytes, 0};
    case Collective::scatter: return is_root ? Moved{others * bytes, 0} : Moved{0, bytes};
    default: return {};
  }
}

}  // namespace

TEST_CASE("collectives in a process, auto") { check_worlds("inproc", "auto"); }
TEST_CASE("collectives in a process, ring") { check_worlds("inproc", "ring"); }
TEST_CASE("collectives in a process, windows") { check_worlds("inproc", "two_shot"); }
TEST_CASE("collectives in shared memory, auto") { check_worlds("shm", "auto"); }
TEST_CASE("collectives in shared memory, ring") { check_worlds("shm", "ring"); }
TEST_CASE("collectives in shared memory, windows") { check_worlds("shm", "two_shot"); }
TEST_CASE("collectives over TCP") { check_worlds("tcp", "auto"); }

TEST_CASE("collectives over several TCP connections a link") {
  WorldOptions options;
  options.nranks = 3;
  options.settings = {{"RONDE_TRANSPORT", "tcp"}, {"RONDE_TCP_CONNECTIONS", "3"}};
  check_world(options, 0, kAnyCount);
}

TEST_CASE("collectives with float32 partial sums") {
  for (const std::string transport : {"inproc", "tcp"}) {
    WorldOptions options;
    options.nranks = 3;
    options.settings = {{"RONDE_TRANSPORT", transport}, {"RONDE_ALGO", "ring"}, {"RONDE_ACCUMULATE", "float32"}};
    check_world(options, 4, kMiddleCount);
  }
}

TEST_CASE("collectives with counters that pass the middle and the end of 32 bits") {
  for (const uint32_t start : {0x7ffffff0u, 0xfffffff0u}) {
    for (const std::string transport : {"inproc", "tcp"}) {
      WorldOptions options;
      options.nranks = 3;
      options.counters_start = start;
      options.settings = {{"RONDE_TRANSPORT", transport}};
      check_world(options, start % 7, kMiddleCount);
    }
  }
}

TEST_CASE("collectives of sleepers lose no wake-up") {
  for (const std::string transport : {"inproc", "tcp"}) {
    CAPTURE(transport);
    WorldOptions options;
    options.nranks = 3;
    options.settings = {{"RONDE_TRANSPORT", transport}, {"RONDE_SPIN", "off"}};
    check_world(options, 2, kMiddleCount);
  }
}

TEST_CASE("each collective moves the least that can be") {
  constexpr int kRanks = 4;
  for (const std::string transport : {"inproc", "tcp"}) {
    for (const size_t count : {size_t{3}, size_t{4'096}, size_t{100'000}}) {
      for (const Collective what :
           {Collective::reduce_scatter, Collective::all_gather, Collective::all_to_all, Collective::gather,
            Collective::scatter, Collective::broadcast, Collective::reduce}) {
        CAPTURE(transport, count, collective_name(what, false));
        WorldOptions options;
        options.nranks = kRanks;
        options.settings = {{"RONDE_TRANSPORT", transport}};
        World world(options);
        REQUIRE(first_failure(world.made()).ok());
        REQUIRE(run_collectives(world, {{.what = what, .count = count, .root = 1}}).ok());
        const std::vector<Moved> moved = moved_by(world);
        const unsigned long long bytes = count * sizeof(float);
        unsigned long long sent = 0;
        unsigned long long received = 0;
        for (int rank = 0; rank < kRanks; ++rank) {
          sent += moved[static_cast<size_t>(rank)].sent;
          received += moved[static_cast<size_t>(rank)].received;
          if (what == Collective::broadcast || what == Collective::reduce) continue;
          const Moved wanted = least(what, rank, 1, kRanks, bytes);
          CHECK(moved[static_cast<size_t>(rank)].sent == wanted.sent);
          CHECK(moved[static_cast<size_t>(rank)].received == wanted.received);
        }
        CHECK(sent == received);
        // Each of the others needs, or gives, the buffer once.
        if (what == Collective::broadcast || what == Collective::reduce) CHECK(sent == (kRanks - 1) * bytes);
      }
    }
  }
}

}  // namespace ronde::testing
