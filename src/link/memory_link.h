// Links over segments, for every transport whose ranks read each other's memory.
#pragma once

#include <functional>
#include <span>

#include "link/transport.h"

namespace ronde {

// Makes the ports of the wishes from this rank's segment and the peers'. memory_of(rank) is not null for any wish.
// rondeInvalidUsage when there are too many ranks in the node for a pair link.
Result<std::vector<MadeLink>> connect_segments(std::span<const LinkWish> wishes, const Peers& peers,
                                               const OwnMemory& own, int own_rank,
                                               const std::function<const PeerMemory*(int)>& memory_of);

}  // namespace ronde
