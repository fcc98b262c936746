// A transport around another one whose links misbehave, by a seed: what arrives is seen late, slices travel in pieces,
// links move in another order, fall silent or break. Windows (memory that ranks read directly) go around it.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "link/transport.h"

namespace ronde::testing {

struct Faults {
  uint64_t seed = 1;
  int delays = 0;         // each arrival and each acquire() is put off up to so many times
  bool splits = false;    // each slice travels as two
  bool reorders = false;  // an advance() of one link moves all of the rank, in a random order
  int drop_after = -1;    // after so many slices what a link sends is lost; -1: never
  int fail_after = -1;    // after so many slices a link breaks; -1: never
  int only_rank = -1;     // the rank whose outgoing links drop and fail; -1: all
};

std::unique_ptr<Transport> make_fault_transport(std::unique_ptr<Transport> inner, const Faults& faults);

// The same around each of them.
std::vector<std::unique_ptr<Transport>> with_faults(std::vector<std::unique_ptr<Transport>> inner,
                                                    const Faults& faults);

}  // namespace ronde::testing
