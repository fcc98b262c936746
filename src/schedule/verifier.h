// The verifier: executes a schedule symbolically, all positions at once, and proves that it ends, that every position
// has in every part of its output exactly what the collective says, each contribution once, and writes no other output,
// and that no memory is written while it is still needed.
//
// One order of progress stands for all: a step that can happen stays possible whatever the others do (each link has one
// sender and one receiver, each counter one writer), so every order leads to the same values and the same end. What
// depends on the order, writing over what another position reads, is proved by vector clocks: the write must happen
// after the read by the messages alone, not by luck.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "schedule/collective.h"
#include "schedule/contributions.h"
#include "schedule/steps.h"

namespace ronde::schedule {

struct Verdict {
  bool ok = true;
  std::string why;  // empty when ok; starts with "does not terminate" when some position waits for ever
};

// What the chunks of a collective are: how many there are, what each is when it is final, and who ends with it.
struct Meaning {
  int chunks = 0;
  std::function<Contributions(int chunk)> final_value;
  std::function<bool(int position, int chunk)> holds;
  // In place: the chunk whose input lies where the output of `chunk` will be.
  std::function<int(int position, int chunk)> overlaid;
};
[[nodiscard]] Meaning meaning_of(Collective what, int n, int root, bool chunk_per_rank);

// What all positions do, over links. At most Contributions::kMaxPositions positions.
struct LinkProgram {
  int positions = 0;
  Meaning meaning;
  std::function<int(int position)> steps;
  std::function<LinkStep(int position, int number)> step;
};

// The program of Ring, Star, ...
template <typename Schedule>
[[nodiscard]] LinkProgram link_program(int n, int root = 0) {
  bool chunk_per_rank = true;
  if constexpr (requires { Schedule::kChunkPerRank; }) chunk_per_rank = Schedule::kChunkPerRank;
  return {.positions = n,
          .meaning = meaning_of(Schedule::kCollective, n, root, chunk_per_rank),
          .steps = [n, root](int position) { return Schedule(n, position, root).steps(); },
          .step = [n, root](int position, int number) { return Schedule(n, position, root).step(number); }};
}

// One step for one slice.
struct Visit {
  int step = 0;
  size_t slice = 0;
};

struct LinkConditions {
  size_t slices = 1;      // of each chunk
  size_t slots = 2;       // of each link
  size_t depth = 1;       // of SliceOrder
  bool in_place = false;  // output = input
  // Links send from the user's memory, where the slice is read until the receiver releases it (an input where it lies,
  // a sum where the output will be, if there is one), and receive final slices into it, from the moment they are sent.
  bool user_memory = false;
  std::function<std::vector<Visit>(int steps)> order;  // instead of SliceOrder, if set
};

// A step happens once each peer of `from` has sent and each link of `to` has a free slot; it then releases what it has
// read before it commits what it sends. What is still read in the user's memory when a position has ended is the
// executor's to wait for.
[[nodiscard]] Verdict verify_links(const LinkProgram& program, const LinkConditions& conditions);

// What all positions do, over windows. The parts of a piece are the chunks of its meaning, one a position.
struct WindowProgram {
  int positions = 0;
  size_t pieces = 0;
  std::function<const Meaning&(size_t piece)> meaning;
  std::function<size_t(int position)> steps;
  std::function<WindowStep(int position, size_t number)> step;
};

// The program of OneShot, TwoShot, ...
template <typename Schedule>
[[nodiscard]] WindowProgram window_program(int n, size_t pieces) {
  return {.positions = n,
          .pieces = pieces,
          .meaning = [meaning = meaning_of(Schedule::kCollective, n, 0, true)](size_t) -> const Meaning& {
            return meaning;
          },
          .steps = [n, pieces](int position) { return Schedule(n, position, pieces).steps(); },
          .step = [n, pieces](int position, size_t number) { return Schedule(n, position, pieces).step(number); }};
}

struct WindowConditions {
  size_t slots = 2;       // of each window; piece q lies in slot q % slots
  bool in_place = false;  // output = input
  // A part lies at the same place for all pieces. Else parts may lie anywhere in the slot (pieces of different lengths:
  // the last one, the next operation), and none may be written while any part of an earlier piece is still needed.
  bool fixed_parts = false;
  // Nothing is copied into windows: others read inputs and results in the user's memory, where they lie, of those
  // positions. What is still read there when a position has ended is the executor's to wait for.
  std::function<bool(int position)> lends;
};

// Publishing and combining are announced by counters, so every position must publish all pieces in order, and combine
// those that it combines in order.
[[nodiscard]] Verdict verify_windows(const WindowProgram& program, const WindowConditions& conditions);

}  // namespace ronde::schedule
