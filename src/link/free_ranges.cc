#include "link/free_ranges.h"

#include <iterator>

namespace ronde {

std::optional<size_t> FreeRanges::take(size_t bytes, size_t alignment) {
  for (auto part = free_.begin(); part != free_.end(); ++part) {
    const auto [begin, size] = *part;
    const size_t skipped = (alignment - begin % alignment) % alignment;
    if (size < skipped || size - skipped < bytes) continue;
    const size_t offset = begin + skipped;
    const size_t behind = size - skipped - bytes;
    if (skipped > 0) {
      part->second = skipped;
    } else {
      free_.erase(part);
    }
    if (behind > 0) free_[offset + bytes] = behind;
    return offset;
  }
  return std::nullopt;
}

void FreeRanges::give_back(size_t offset, size_t bytes) {
  const auto next = free_.upper_bound(offset);
  if (next != free_.end() && next->first == offset + bytes) {
    bytes += next->second;
    free_.erase(next);
  }
  const auto after = free_.upper_bound(offset);
  if (after != free_.begin()) {
    const auto before = std::prev(after);
    if (before->first + before->second == offset) {
      before->second += bytes;
      return;
    }
  }
  free_[offset] = bytes;
}

}  // namespace ronde
