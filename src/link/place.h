// Where bytes lie in the memory that a process gives out (arena.h), as ranks tell each other.
#pragma once

#include <cstdint>

namespace ronde {

// An offset in bytes. 0: in none, as an arena's first page belongs to the library.
using Place = uint64_t;
inline constexpr Place kNoPlace = 0;

}  // namespace ronde
