#include "plan/choose.h"

#include <algorithm>
#include <array>
#include <limits>
#include <utility>

namespace ronde::plan {
namespace {

using schedule::Collective;

constexpr std::array<std::pair<std::string_view, Algorithm>, 9> kNames = {{{"auto", Algorithm::automatic},
                                                                           {"line", Algorithm::line},
                                                                           {"one_shot", Algorithm::one_shot},
                                                                           {"two_shot", Algorithm::two_shot},
                                                                           {"ring", Algorithm::ring},
                                                                           {"star", Algorithm::star},
                                                                           {"direct", Algorithm::direct},
                                                                           {"chain", Algorithm::chain},
                                                                           {"exchange", Algorithm::exchange}}};

constexpr size_t kLeastPiece = 32 << 10;
constexpr size_t kLeastSlice = 16 << 10;
constexpr size_t kPartGrain = 64;  // parts start on cache lines

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

Algorithm pick_all_reduce(const Layout& layout, Algorithm requested, size_t bytes) {
  if (requested == Algorithm::one_shot) return bytes <= layout.line_bytes ? Algorithm::line : Algorithm::one_shot;
  if (requested != Algorithm::automatic) return requested;
  if (!layout.windows) return Algorithm::ring;
  if (bytes <= layout.line_bytes) return Algorithm::line;
  return bytes <= one_shot_limit(layout.nranks) ? Algorithm::one_shot : Algorithm::two_shot;
}

// Reduce-scatter, all-gather, barrier. line_bytes: what a rank would put into its line.
Algorithm pick_among_all(const Layout& layout, Algorithm requested, size_t line_bytes) {
  if (!layout.windows || requested == Algorithm::ring || requested == Algorithm::star) return Algorithm::ring;
  return line_bytes <= layout.line_bytes && requested != Algorithm::two_shot ? Algorithm::line : Algorithm::direct;
}

// What combines in the order of ranks: windows, the star, and along a chain in that order.
Algorithm pick_ordered(const Layout& layout, Algorithm requested, const Message& message) {
  const bool links = !layout.windows || requested == Algorithm::ring;
  switch (message.what) {
    case Collective::all_reduce:
      return links && requested != Algorithm::star ? Algorithm::chain
                                                   : pick_all_reduce(layout, requested, message.bytes);
    case Collective::reduce_scatter:
      return links || requested == Algorithm::star ? Algorithm::star
                                                   : pick_among_all(layout, requested, message.total_bytes);
    default: return Algorithm::star;
  }
}

Algorithm pick(const Layout& layout, Algorithm requested, const Message& message) {
  if (message.ordered) return pick_ordered(layout, requested, message);
  switch (message.what) {
    case Collective::all_reduce: return pick_all_reduce(layout, requested, message.bytes);
    case Collective::reduce_scatter: return pick_among_all(layout, requested, message.total_bytes);
    case Collective::all_gather: return pick_among_all(layout, requested, message.bytes);
    case Collective::barrier: return layout.windows ? Algorithm::line : Algorithm::ring;
    case Collective::broadcast:
    case Collective::reduce: return Algorithm::chain;
    default: return Algorithm::exchange;
  }
}

// Each rank's part of a piece. In reduce-scatter a window slot holds the parts of all ranks.
size_t direct_part(const Layout& layout, const Message& message) {
  const bool all_parts = message.what == Collective::reduce_scatter;
  const size_t parts = all_parts ? static_cast<size_t>(layout.nranks) : 1;
  const auto whole_lines = [](size_t bytes) { return bytes / kPartGrain * kPartGrain; };
  const size_t limit = whole_lines(layout.piece_bytes / parts);
  return std::clamp(whole_lines(message.bytes / 4), std::min(whole_lines(kLeastPiece / parts), limit), limit);
}

// So many slices that the time in which a chain fills is small beside that of the message.
constexpr int kChainSlices = 16;
constexpr int kAllSlices = std::numeric_limits<int>::max();
constexpr int kPairSlots = 2;  // that every link between two ranks has at least

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

Choice choose(const Layout& layout, Algorithm requested, const Message& message) {
  const Algorithm algorithm = pick(layout, requested, message);
  const auto nranks = static_cast<size_t>(layout.nranks);
  const int depth = depth_of(layout);
  switch (algorithm) {
    case Algorithm::line: return {algorithm, layout.line_bytes, 1};
    case Algorithm::one_shot: return {algorithm, layout.one_shot_bytes, 1};
    case Algorithm::two_shot: return {algorithm, piece_size(layout, message.bytes), 1};
    case Algorithm::direct: return {algorithm, direct_part(layout, message), 1};
    case Algorithm::star: {
      const bool round_trip = message.what == Collective::all_reduce;  // bears twice its links' slots
      return {algorithm, slice_size(layout.pair_slice_bytes, message.bytes, depth), round_trip ? depth : kPairSlots};
    }
    case Algorithm::exchange: return {algorithm, layout.pair_slice_bytes, 1};
    case Algorithm::chain:
      if (message.what == Collective::all_reduce)
        return {algorithm, slice_size(layout.pair_slice_bytes, message.bytes, kChainSlices), kAllSlices};
      return {algorithm, slice_size(layout.ring_slice_bytes, message.bytes, kChainSlices), 1};
    default: break;
  }
  const size_t chunk = message.what == Collective::all_reduce ? message.bytes / nranks : message.bytes;
  return {algorithm, slice_size(layout.ring_slice_bytes, chunk, depth), depth};
}

}  // namespace ronde::plan
