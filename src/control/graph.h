// Who holds a control connection with whom once a communicator has started: ranks whose distance around the circle of
// all ranks is a power of two. O(log n) connections a rank, any two ranks O(log n) hops apart, and so many ways between
// them that the ranks that are left stay connected when some die or are stopped: nothing has to be repaired.
#pragma once

#include <cstdint>
#include <vector>

namespace ronde {

// Sorted; up to four ranks everybody is everybody's neighbour.
[[nodiscard]] std::vector<uint32_t> control_neighbours(uint32_t rank, uint32_t nranks);

// Which of two neighbours makes the connection.
[[nodiscard]] constexpr bool makes_control_connection(uint32_t own, uint32_t peer) { return own < peer; }

}  // namespace ronde
