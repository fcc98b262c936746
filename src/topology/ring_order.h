// In which order the ranks stand in the ring.
#pragma once

#include <vector>

namespace ronde::topology {

// node_of_rank: by rank, the number of the node it is on. Ranks of a node stand together, in rank order, and the nodes
// follow each other by their lowest rank: each node is entered once and left once. Returns ranks by position.
[[nodiscard]] std::vector<int> ring_order(const std::vector<int>& node_of_rank);

}  // namespace ronde::topology
