// Who is joined with whom: few connections, short ways, and many of them.
#include "control/graph.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <set>

namespace ronde {
namespace {

// How many of the ranks that are not gone a word of `from` reaches, and in how many hops.
std::pair<size_t, int> reached_from(uint32_t from, uint32_t nranks, const std::set<uint32_t>& gone) {
  std::set<uint32_t> reached{from};
  std::vector<uint32_t> edge{from};
  int hops = 0;
  while (!edge.empty()) {
    std::vector<uint32_t> next;
    for (const uint32_t rank : edge) {
      for (const uint32_t peer : control_neighbours(rank, nranks))
        if (!gone.contains(peer) && reached.insert(peer).second) next.push_back(peer);
    }
    hops += next.empty() ? 0 : 1;
    edge.swap(next);
  }
  return {reached.size(), hops};
}

}  // namespace

TEST_CASE("neighbours are mutual, few, and all ranks are a few hops apart") {
  for (const uint32_t nranks : {1u, 2u, 3u, 4u, 5u, 6u, 7u, 8u, 9u, 31u, 64u, 100u, 1024u}) {
    size_t bits = 0;
    while ((1u << bits) < nranks) ++bits;
    for (uint32_t rank = 0; rank < nranks; ++rank) {
      const std::vector<uint32_t> peers = control_neighbours(rank, nranks);
      REQUIRE(peers.size() <= 2 * bits);
      REQUIRE(std::is_sorted(peers.begin(), peers.end()));
      for (const uint32_t peer : peers) {
        REQUIRE(peer != rank);
        const std::vector<uint32_t> theirs = control_neighbours(peer, nranks);
        REQUIRE(std::binary_search(theirs.begin(), theirs.end(), rank));
        REQUIRE(makes_control_connection(rank, peer) != makes_control_connection(peer, rank));
      }
    }
    const auto [reached, hops] = reached_from(0, nranks, {});
    CHECK(reached == nranks);
    CHECK(hops <= static_cast<int>(bits / 2 + 1));
  }
}

TEST_CASE("up to five ranks and with seven everybody is everybody's neighbour") {
  for (const uint32_t nranks : {2u, 3u, 4u, 5u, 7u}) CHECK(control_neighbours(1, nranks).size() == nranks - 1);
}

TEST_CASE("whoever is gone, the others still reach each other") {
  // Any four of 16, and whole nodes of larger worlds.
  for (uint32_t a = 1; a < 16; ++a)
    for (uint32_t b = a + 1; b < 16; ++b)
      for (uint32_t c = b + 1; c < 16; ++c)
        for (uint32_t d = c + 1; d < 16; ++d) REQUIRE(reached_from(0, 16, {a, b, c, d}).first == 12);
  for (uint32_t first = 1; first + 8 <= 64; ++first) {
    std::set<uint32_t> node;
    for (uint32_t rank = first; rank < first + 8; ++rank) node.insert(rank);
    REQUIRE(reached_from(0, 64, node).first == 56);
  }
}

}  // namespace ronde
