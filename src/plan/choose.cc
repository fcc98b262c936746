#include "plan/choose.h"

#include <algorithm>
#include <array>
#include <utility>

namespace ronde::plan {
namespace {

constexpr std::array<std::pair<std::string_view, Algorithm>, 6> kNames = {{{"auto", Algorithm::automatic},
                                                                           {"line", Algorithm::line},
                                                                           {"one_shot", Algorithm::one_shot},
                                                                           {"two_shot", Algorithm::two_shot},
                                                                           {"ring", Algorithm::ring},
                                                                           {"star", Algorithm::star}}};

constexpr size_t kLeastPiece = 32 << 10;
constexpr size_t kLeastSlice = 16 << 10;

// Slices on the way at a time. One slot of a link must stay free, else the ring stands still; the star bears twice its
// links' slots.
int depth_of(const Layout& layout) { return std::max(1, layout.ring_slots - 1); }

// One-shot moves n times the bytes for one synchronisation less.
size_t one_shot_limit(int nranks) { return nranks == 2 ? 32 << 10 : 8 << 10; }

// Pieces small enough to overlap publishing, combining and fetching; at least kLeastPiece, for the cost of a
// synchronisation.
size_t piece_size(const Layout& layout, size_t message_bytes) {
  const size_t limit = std::max(layout.piece_bytes, kLeastPiece);
  return std::clamp(message_bytes / 4, kLeastPiece, limit);
}

// Slices small enough that `depth` of them make up a chunk.
size_t slice_size(size_t slot_bytes, size_t chunk_bytes, int depth) {
  return std::clamp(chunk_bytes / static_cast<size_t>(depth) / 4096 * 4096, std::min(kLeastSlice, slot_bytes),
                    slot_bytes);
}

Algorithm pick(const Layout& layout, Algorithm requested, size_t message_bytes) {
  if (requested == Algorithm::one_shot) {
    return message_bytes <= layout.line_bytes ? Algorithm::line : Algorithm::one_shot;
  }
  if (requested != Algorithm::automatic) return requested;
  if (!layout.windows) return Algorithm::ring;
  if (message_bytes <= layout.line_bytes) return Algorithm::line;
  return message_bytes <= one_shot_limit(layout.nranks) ? Algorithm::one_shot : Algorithm::two_shot;
}

}  // namespace

std::optional<Algorithm> algorithm_by_name(std::string_view name) {
  for (const auto& [known, algorithm] : kNames) {
    if (known == name) return algorithm;
  }
  return std::nullopt;
}

std::string_view algorithm_name(Algorithm algorithm) {
  for (const auto& [name, known] : kNames) {
    if (known == algorithm) return name;
  }
  return "?";
}

Choice choose(const Layout& layout, Algorithm requested, size_t message_bytes) {
  const Algorithm algorithm = pick(layout, requested, message_bytes);
  const auto nranks = static_cast<size_t>(layout.nranks);
  const int depth = depth_of(layout);
  switch (algorithm) {
    case Algorithm::line: return {algorithm, layout.line_bytes, 1};
    case Algorithm::one_shot: return {algorithm, layout.one_shot_bytes, 1};
    case Algorithm::two_shot: return {algorithm, piece_size(layout, message_bytes), 1};
    case Algorithm::star: return {algorithm, slice_size(layout.star_slice_bytes, message_bytes, depth), depth};
    default: return {Algorithm::ring, slice_size(layout.ring_slice_bytes, message_bytes / nranks, depth), depth};
  }
}

}  // namespace ronde::plan
