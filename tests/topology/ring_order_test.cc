#include "topology/ring_order.h"

#include <catch2/catch.hpp>

using ronde::topology::ring_order;

TEST_CASE("one node keeps rank order") { CHECK(ring_order({0, 0, 0, 0}) == std::vector<int>{0, 1, 2, 3}); }

TEST_CASE("ranks of a node stand together, nodes by their lowest rank") {
  CHECK(ring_order({0, 1, 0, 1, 2}) == std::vector<int>{0, 2, 1, 3, 4});
  CHECK(ring_order({4, 1, 1, 4, 0}) == std::vector<int>{0, 3, 1, 2, 4});
}

TEST_CASE("each node is entered once") {
  const std::vector<int> node = {0, 1, 2, 0, 1, 2, 0, 1, 2, 3};
  const std::vector<int> order = ring_order(node);
  int changes = 0;
  for (size_t i = 0; i < order.size(); ++i) {
    const int here = node[static_cast<size_t>(order[i])];
    const int next = node[static_cast<size_t>(order[(i + 1) % order.size()])];
    changes += here != next;
  }
  CHECK(changes == 4);
}
