// Inputs whose reduction is known exactly, whatever the order and the rounding of each step.
//
//  - Elements that are only moved (kNoReduction): random bits, NaNs among them.
//  - Integers: random bits; sums and products wrap, so any order gives the same. Averages: even places overflow, odd
//    places do not.
//  - Float sums: whole numbers (times a power of two) whose magnitudes add up to at most 2^precision over all ranks, so
//    that every partial sum is representable. All ranks give one where the type has bits for that, else four do and
//    the others give 0.
//  - mulsum: the same after the multiplication, which changes the exponents of floats alone.
//  - Bitwise and, or: two ranks, other ones from place to place, give random bits, of which half are the same on both,
//    so that the result is neither all zeros nor all ones; the others give what changes nothing.
//  - Float products: one rank gives a random significand, one 2, one 1/2, the others 1, all with random signs.
//  - Minimum, maximum: random finite values of both signs, never 0 (the order of +0 and -0 is not defined).
//  - Float averages: exact like sums for a power of two of ranks. Otherwise two ranks give multiples of the number of
//    ranks if such are representable, the same sign in one place, so that nothing cancels. 8- and 16-bit types are then
//    exact; what remains inexact is at most 2 units in the last place off.
#pragma once

#include <ronde/ronde.h>

#include <cstddef>
#include <cstdint>

#include "common/data_types.h"

namespace perf {

// The reduction of programs that only move data.
inline constexpr rondeRedOp_t kNoReduction = rondeMaxRedOp;

// The scalar by which mulsum multiplies what this rank gives, as in nccl-tests.
constexpr int mulsum_scalar(int rank) { return 1 + rank % 2; }

// What is being reduced.
struct Reduction {
  rondeDataType_t type;
  rondeRedOp_t op;
  int nranks;
};

// Bits of the element that this rank gives at this place. The rank `nranks` gives nothing; its values serve as others.
std::uint64_t input_bits(const Reduction& reduction, int rank, std::size_t index);

// Bits of the exact result at this place; for an inexact average the exact quotient rounded once.
std::uint64_t expected_bits(const Reduction& reduction, std::size_t index);

// How far a right result may be from expected_bits: 0, or 2 for averages of floats that cannot be exact.
int allowed_ulps(const Reduction& reduction);

}  // namespace perf
