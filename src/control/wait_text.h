// Whom a wait is for, in words, from what a LateNote tells of it: follows the ranks that wait themselves to the one
// that is late, or around a circle.
#pragma once

#include <string>

#include "control/messages.h"

namespace ronde {

// Whether the note says anything of the wait of `rank` in that call.
[[nodiscard]] bool concerns(const LateNote& note, uint32_t rank, bool numbered, uint32_t sequence);

// "rank 1, which has not called it"; "rank 1, which waits in Send (1 bytes to rank 0) for rank 0: a circle: ...". next:
// the rank that it waits for directly, for a note that names nobody.
[[nodiscard]] std::string awaited_text(const LateNote& note, uint32_t rank, bool numbered, uint32_t sequence,
                                       const std::string& next);

}  // namespace ronde
