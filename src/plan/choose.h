// Which algorithm an operation uses, and how it is cut: a pure function of what is equal on all ranks, so that all
// ranks choose alike without a word. Neither the place nor the alignment of a buffer enters.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

#include "schedule/collective.h"

namespace ronde::plan {

// Numbers are part of black boxes.
enum class Algorithm {
  automatic,
  line,      // in the fixed line of windows
  one_shot,  // in windows: everybody combines everything
  two_shot,  // in windows: everybody combines its part, and fetches the others'
  ring,      // round the ring of links
  star,      // all inputs to the rank that combines them; of an all-reduce, the result back
  direct,    // in windows: reduce-scatter or all-gather, half of two_shot
  chain,     // along the ring, opened beside the root; of an all-reduce, along the ranks and back
  exchange,  // blocks straight from rank to rank
};
inline constexpr Algorithm kLastAlgorithm = Algorithm::exchange;

// By its name in messages and in RONDE_ALGO, which takes some of them.
[[nodiscard]] std::optional<Algorithm> algorithm_by_name(std::string_view name);
[[nodiscard]] std::string_view algorithm_name(Algorithm algorithm);

// What the choice depends on besides the operation.
struct Layout {
  int nranks = 1;
  bool windows = false;       // every rank reads every other one's memory
  size_t line_bytes = 0;      // payload of the fixed line
  size_t one_shot_bytes = 0;  // a window slot for one-shot
  size_t piece_bytes = 0;     // a window slot for two-shot
  int ring_slots = 2;         // of every link of the ring; pair links may have half as many
  size_t ring_slice_bytes = 0;
  size_t pair_slice_bytes = 0;
};

struct Choice {
  Algorithm algorithm = Algorithm::ring;
  // Of a piece (one-shot, two-shot), of each rank's part of a piece (direct), or of a slice (links). In bytes of the
  // wider of user and wire type.
  size_t cut_bytes = 0;
  int depth = 1;  // links: slices on the way at a time
};

// What is to be moved.
struct Message {
  schedule::Collective what = schedule::Collective::all_reduce;
  size_t bytes = 0;        // of the buffer (all-reduce, broadcast, reduce), else of the longest block
  size_t total_bytes = 0;  // of all blocks; else `bytes`
  bool ordered = false;    // inputs must be combined in the order of ranks
};

// requested: from the settings, for all-reduce; one that is impossible was refused when the communicator was made.
// Other collectives follow it as far as they can: one that names windows takes windows, another one the ring.
[[nodiscard]] Choice choose(const Layout& layout, Algorithm requested, const Message& message);

// From this size of a result on it is written past the caches: it would not stay in them anyway.
inline constexpr size_t kStreamingBytes = size_t{16} << 20;

// Operations (send/receive: messages) up to this size copy what others are to read, wherever it lies: that costs less
// than to wait until it has been read.
inline constexpr size_t kCopiedBytes = size_t{32} << 10;

// Ranks that can use windows: more would each read too many lines.
inline constexpr int kMaxWindowRanks = 64;
// Ranks that a star can have: its centre combines all inputs in one pass.
inline constexpr int kMaxStarRanks = 256;

}  // namespace ronde::plan
