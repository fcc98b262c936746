// What a buffer of one rank must hold, element by element: stretches of tiles, of which later ones cover earlier ones.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "common/data_types.h"
#include "common/pattern.h"

namespace perf {

struct Stretch {
  enum class Kind {
    kUntouched,  // is there before the operation and must stay
    kPoison,     // the right result with all bits inverted; must go
    kResult,
  };
  std::size_t place = 0;  // of its first element in the buffer
  std::size_t count = 0;
  const Tile* tile = nullptr;
  std::size_t first = 0;  // place of the tile's pattern where it begins
  Kind kind = Kind::kUntouched;
  int allowed_ulps = 0;
};

struct CheckCounts {
  std::uint64_t wrong = 0;          // elements of results
  std::uint64_t out_of_bounds = 0;  // guard bytes, and elements that nobody may have written
};

class Image {
 public:
  // What lies under it is cut off.
  void cover(const Stretch& stretch);

  void write(const TypeInfo& type, std::byte* to) const;

  // Counts the elements that differ, by what they are part of.
  CheckCounts compare(const TypeInfo& type, const std::byte* got) const;

 private:
  std::vector<Stretch> stretches_;  // none overlaps another one
};

}  // namespace perf
