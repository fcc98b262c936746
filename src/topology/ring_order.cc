#include "topology/ring_order.h"

#include <algorithm>
#include <numeric>

namespace ronde::topology {

std::vector<int> ring_order(const std::vector<int>& node_of_rank) {
  std::vector<int> first_of_node(node_of_rank.size() + 1, -1);
  for (size_t rank = 0; rank < node_of_rank.size(); ++rank) {
    int& first = first_of_node[static_cast<size_t>(node_of_rank[rank])];
    if (first < 0) first = static_cast<int>(rank);
  }
  std::vector<int> order(node_of_rank.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](int a, int b) {
    return first_of_node[static_cast<size_t>(node_of_rank[static_cast<size_t>(a)])] <
           first_of_node[static_cast<size_t>(node_of_rank[static_cast<size_t>(b)])];
  });
  return order;
}

}  // namespace ronde::topology
