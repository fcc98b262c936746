// The collectives, by what they leave where. Plain words for schedules, the verifier and everybody above.
#pragma once

#include <cstdint>

namespace ronde::schedule {

// Numbers are part of digests and of black boxes: they are not changed.
enum class Collective : uint8_t {
  all_reduce = 1,  // everybody ends with the reduction of all inputs
  reduce_scatter,  // everybody ends with its own block of the reduction
  all_gather,      // everybody ends with everybody's input
  broadcast,       // everybody ends with the root's input
  reduce,          // the root ends with the reduction
  all_to_all,      // everybody ends with the block that each one has for it
  gather,          // the root ends with everybody's input
  scatter,         // everybody ends with the block that the root has for it
  barrier,         // nobody ends before all have begun
  send_receive,    // messages between pairs of ranks
};

// Whether inputs are combined; else they are only moved.
[[nodiscard]] constexpr bool reduces(Collective what) {
  return what == Collective::all_reduce || what == Collective::reduce_scatter || what == Collective::reduce;
}

// Whether one rank plays another part than the others.
[[nodiscard]] constexpr bool has_root(Collective what) {
  return what == Collective::broadcast || what == Collective::reduce || what == Collective::gather ||
         what == Collective::scatter;
}

// Whether every rank ends with a block, or gives one, whose size all of them know.
[[nodiscard]] constexpr bool has_agreed_blocks(Collective what) {
  return what == Collective::all_gather || what == Collective::reduce_scatter;
}

}  // namespace ronde::schedule
