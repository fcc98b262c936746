// Inputs and expected results as tiles: computed once for one period of places, then copied and compared at memory
// speed. The period is a prime, so that a piece that lands at a wrong place (chunks are multiples of powers of two)
// shows.
#pragma once

#include <cstddef>
#include <map>
#include <vector>

#include "common/data_types.h"
#include "common/values.h"

namespace perf {

inline constexpr std::size_t kPeriod = 16381;

// One period of elements. Place i of a buffer that starts at place `first` of the pattern holds element
// (first + i) mod kPeriod.
using Tile = std::vector<std::byte>;

// The tiles of one reduction (kNoReduction: of a type whose elements are only moved). One thread uses it.
class Pattern {
 public:
  explicit Pattern(const Reduction& reduction) : reduction_(reduction), type_(type_info(reduction.type)) {}

  const TypeInfo& type() const { return type_; }

  // What this rank gives. Computed at the first call; the reference stays valid.
  const Tile& input(int rank);

  // What the reduction over all ranks must give.
  const Tile& reduced();

  // What no rank gives, in its type: for places that must stay as they are.
  const Tile& filler();

  int reduced_allowed_ulps() const { return allowed_ulps(reduction_); }

 private:
  Reduction reduction_;
  const TypeInfo& type_;
  std::map<int, Tile> inputs_;
  Tile reduced_;
  Tile filler_;
};

// Writes count elements of the tile from place first on. With invert every bit is flipped: poison that differs from the
// expected value in each element.
void fill(const TypeInfo& type, const Tile& tile, std::size_t first, std::size_t count, bool invert, std::byte* to);

// Elements of `got` that are further than allowed_ulps from the tile.
std::size_t count_wrong(const TypeInfo& type, const Tile& tile, std::size_t first, std::size_t count, int ulps,
                        const std::byte* got);

}  // namespace perf
