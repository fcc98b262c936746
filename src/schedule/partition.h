// How a range of elements is cut: into parts for ranks, chunks into slices. Pure arithmetic.
#pragma once

#include <algorithm>
#include <cstddef>

namespace ronde::schedule {

struct Range {
  size_t offset = 0;
  size_t count = 0;
  [[nodiscard]] size_t end() const { return offset + count; }
};

// Part `part` of `parts` of a range of `count` elements. All parts but the last ones hold the same number of elements,
// a multiple of `grain` (so that parts start on cache lines when the buffer does); the last may be shorter or empty.
[[nodiscard]] constexpr Range even_part(size_t count, int parts, int part, size_t grain) {
  const auto n = static_cast<size_t>(parts);
  const size_t per_part = (count / n + (count % n != 0) + grain - 1) / grain * grain;
  const size_t begin = std::min(count, per_part * static_cast<size_t>(part));
  return {begin, std::min(per_part, count - begin)};
}

// Slice `slice` of a chunk cut into slices of `slice_count` elements; empty beyond its end.
[[nodiscard]] constexpr Range slice_of(Range chunk, size_t slice_count, size_t slice) {
  const size_t begin = std::min(chunk.count, slice_count * slice);
  return {chunk.offset + begin, std::min(slice_count, chunk.count - begin)};
}

// Number of slices that the longest of all parts has, at least 1: every rank goes through the same number, so that an
// operation without elements still meets all ranks.
[[nodiscard]] constexpr size_t slice_rounds(size_t longest_part, size_t slice_count) {
  return std::max<size_t>(1, longest_part / slice_count + (longest_part % slice_count != 0));
}

}  // namespace ronde::schedule
