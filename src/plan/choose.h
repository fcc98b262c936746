// Which algorithm an operation uses, and how it is cut: a pure function of what is equal on all ranks, so that all ranks
// choose alike without a word. Neither the place nor the alignment of a buffer enters.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

namespace ronde::plan {

enum class Algorithm { automatic, line, one_shot, two_shot, ring, star };

// By the words of RONDE_ALGO.
[[nodiscard]] std::optional<Algorithm> algorithm_by_name(std::string_view name);
[[nodiscard]] std::string_view algorithm_name(Algorithm algorithm);

// What the choice depends on besides the operation.
struct Layout {
  int nranks = 1;
  bool windows = false;       // every rank reads every other one's memory
  size_t line_bytes = 0;      // payload of the fixed line
  size_t one_shot_bytes = 0;  // a window slot for one-shot
  size_t piece_bytes = 0;     // a window slot for two-shot
  int ring_slots = 2;         // of every link of the ring; the star's pair links may have half as many
  size_t ring_slice_bytes = 0;
  size_t star_slice_bytes = 0;
};

struct Choice {
  Algorithm algorithm = Algorithm::ring;
  size_t cut_bytes =
      0;          // one-shot, two-shot: a piece; ring, star: a slice. In bytes of the wider of user and wire type
  int depth = 1;  // ring, star: slices on the way at a time
};

// requested: from the settings; one that is impossible was refused when the communicator was made.
[[nodiscard]] Choice choose(const Layout& layout, Algorithm requested, size_t message_bytes);

// From this size of a result on it is written past the caches: it would not stay in them anyway.
inline constexpr size_t kStreamingBytes = size_t{16} << 20;

// Ranks that can use windows: more would each read too many lines.
inline constexpr int kMaxWindowRanks = 64;
// Ranks that a star can have: its centre combines all inputs in one pass.
inline constexpr int kMaxStarRanks = 256;

}  // namespace ronde::plan
