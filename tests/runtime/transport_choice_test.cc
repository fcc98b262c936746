#include "runtime/transport_choice.h"

#include <catch2/catch.hpp>

namespace ronde {
namespace {

constexpr size_t kTransports = 3;  // as in the library: two that share memory, then a wire
const std::vector<bool> kShares{true, true, false};

// Hosts by rank, processes by rank: who reaches whom over process memory, host memory and wire.
std::vector<Bytes> reach_of(const std::vector<int>& hosts, const std::vector<int>& processes) {
  std::vector<Bytes> all;
  const size_t n = hosts.size();
  for (size_t a = 0; a < n; ++a) {
    std::vector<std::vector<bool>> reached(kTransports, std::vector<bool>(n));
    for (size_t b = 0; b < n; ++b) {
      if (a == b) continue;
      reached[0][b] = processes[a] == processes[b];
      reached[1][b] = hosts[a] == hosts[b];
      reached[2][b] = true;
    }
    all.push_back(write_reach(reached));
  }
  return all;
}

}  // namespace

TEST_CASE("arenas that a rank cannot read are told with what it reaches") {
  std::vector<Bytes> all = reach_of({0, 0, 0}, {0, 1, 2});
  std::vector<std::vector<bool>> reached(kTransports, std::vector<bool>(3, true));
  all[1] = write_reach(reached, {0, 2});
  REQUIRE(TransportChoice::among(all, kTransports, "auto").ok());
  CHECK(who_reads_arena_of(0, all, kTransports) == std::vector<bool>{true, false, true});
  CHECK(who_reads_arena_of(1, all, kTransports) == std::vector<bool>{true, true, true});
  CHECK(who_reads_arena_of(2, all, kTransports) == std::vector<bool>{true, false, true});
  all[1].pop_back();
  CHECK_FALSE(TransportChoice::among(all, kTransports, "auto").ok());
}

TEST_CASE("two ranks are joined by the first transport that reaches both ways") {
  const auto choice = TransportChoice::among(reach_of({0, 0, 0, 1, 1}, {0, 0, 1, 2, 3}), kTransports, "auto");
  REQUIRE(choice.ok());
  CHECK(choice->between(0, 1) == 0);
  CHECK(choice->between(2, 0) == 1);
  CHECK(choice->between(3, 4) == 1);
  CHECK(choice->between(1, 4) == 2);
  CHECK(choice->node_of_rank(kShares) == std::vector<int>{0, 0, 0, 3, 3});
  CHECK_FALSE(choice->all_share_memory(kShares));
}

TEST_CASE("one way is not enough") {
  std::vector<std::vector<bool>> only_wire(kTransports, std::vector<bool>(2));
  auto both = only_wire;
  only_wire[2][0] = true;
  both[1][1] = both[2][1] = true;
  const auto choice = TransportChoice::among({write_reach(both), write_reach(only_wire)}, kTransports, "auto");
  REQUIRE(choice.ok());
  CHECK(choice->between(0, 1) == 2);
}

TEST_CASE("pairs that may not use memory get the first wire, from both sides, or nothing") {
  const std::vector<Bytes> reached = reach_of({0, 0, 1}, {0, 0, 1});
  const std::vector<bool> wires{false, false, true};
  for (const auto& [a, b] : {std::pair<size_t, size_t>(0, 1), std::pair<size_t, size_t>(2, 0)}) {
    CHECK(best_transport(reached, a, b, wires) == size_t{2});
    CHECK(best_transport(reached, b, a, wires) == size_t{2});
  }
  CHECK(best_transport(reached, 0, 1, {true, true, true}) == size_t{0});
  CHECK(best_transport(reached, 0, 2, {true, true, false}) == std::nullopt);
}

TEST_CASE("two ranks that nothing joins are named, with the setting") {
  std::vector<std::vector<bool>> nothing(kTransports, std::vector<bool>(3));
  const auto choice = TransportChoice::among(std::vector<Bytes>(3, write_reach(nothing)), kTransports, "shm");
  REQUIRE(choice.status().code() == rondeInvalidUsage);
  CHECK_THAT(choice.status().message(),
             Catch::StartsWith("no transport joins rank 0 and rank 1 (RONDE_TRANSPORT=shm)"));
}

TEST_CASE("bytes of another size are refused with their rank") {
  auto all = reach_of({0, 0}, {0, 1});
  all[1].pop_back();
  CHECK_THAT(TransportChoice::among(all, kTransports, "auto").status().message(), Catch::Contains("rank 1"));
}

TEST_CASE("one rank needs nobody") {
  const auto choice = TransportChoice::among(reach_of({0}, {0}), kTransports, "auto");
  REQUIRE(choice.ok());
  CHECK(choice->all_share_memory(kShares));
}

}  // namespace ronde
