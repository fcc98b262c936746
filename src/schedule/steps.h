// The two vocabularies in which schedules are written: link steps and window steps. Plain values, no bytes, no memory.
// Executors, the verifier and the simulator interpret them; schedules (ring.h, star.h, ...) produce them.
//
// A position is a place in the order in which the ranks of a channel stand, 0..n-1; the caller maps positions to ranks.
#pragma once

#include <cstddef>
#include <cstdint>

namespace ronde::schedule {

// A range of positions: first, first + 1, ... (modulo n), count of them. Empty when count is 0.
struct Peers {
  int first = 0;
  int count = 0;
};

// One step of a schedule over links, for one slice of one chunk. In this order:
//   1. receive a slice from each peer of `from`, and combine them, in order
//   2. if `add_input`, combine with the own input of that slice
//   3. if `keep`, write the combination to the output
//   4. send it to each peer of `to`
// With an empty `from` the combination is the own input (add_input is then true) or, with `from_output`, the output as
// an earlier step left it.
// What is sent is a partial result or the final one; a final one is what every rank ends with.
struct LinkStep {
  int chunk = 0;
  Peers from;
  Peers to;
  bool add_input = false;
  bool keep = false;
  bool from_output = false;
  bool receives_final = false;  // what arrives is final (of the user's type)
  bool sends_final = false;     // what leaves is final
};

// One step of a schedule over windows (memory of a rank that the others of its node can read), for one piece. A piece
// has a part for each position.
enum class WindowAction : uint8_t {
  publish,  // copy `parts` of the own input into the own window, and say so
  combine,  // wait until all have published the piece; combine `parts` over all ranks; write to the output and, if
            // `hand_out`, to the own window, and say so
  fetch,    // wait until `peer` has combined its part, or, if `as_published`, has published it; copy that part from its
            // window to the output
  keep,     // copy the own part of the own input to the output
};

enum class WindowParts : uint8_t { all, own, others };

struct WindowStep {
  WindowAction action = WindowAction::publish;
  size_t piece = 0;
  int peer = 0;                          // fetch: from whom
  WindowParts parts = WindowParts::all;  // publish, combine
  bool hand_out = false;                 // combine
  bool as_published = false;             // fetch
};

}  // namespace ronde::schedule
