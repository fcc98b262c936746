#include "control/graph.h"

#include <set>

namespace ronde {

std::vector<uint32_t> control_neighbours(uint32_t rank, uint32_t nranks) {
  std::set<uint32_t> neighbours;
  for (uint32_t distance = 1; distance < nranks; distance *= 2) {
    neighbours.insert((rank + distance) % nranks);
    neighbours.insert((rank + nranks - distance) % nranks);
  }
  return {neighbours.begin(), neighbours.end()};
}

}  // namespace ronde
