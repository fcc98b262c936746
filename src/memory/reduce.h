// The arithmetic of a collective on host memory: combine several sources into several destinations, in one pass.
// SIMD by Google Highway with run-time dispatch; no allocation, no lock. Knows neither ranks nor links.
//
// Two element types are in play: the user's type, and the type of partial sums on a link (the wire type). They are the
// same unless partial sums of a narrow float travel as float32.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "memory/data_type.h"

namespace ronde {

// Of what type elements are, and what has been done to them. Where partial results have the user's type, ready and
// partial are the same.
enum class Content : uint8_t {
  input,    // Reduction::type; a factor is still to be applied. Sources only
  ready,    // Reduction::type; a factor has been applied, and rounded; an integer average has not divided
  partial,  // Reduction::partial; likewise
  final,    // Reduction::type; an integer average has divided. Targets only
};

// What is computed. Made once per operation, by one of the three functions.
struct Reduction {
  DataType type;                 // the user's type
  DataType partial;              // type of partial results: equal to type, or rondeFloat32 when type is a narrow float
  RedOp op;                      // a built-in one that fits type; rondeSum for PreMulSum, and where function is set
  int nranks;                    // an integer average divides final results by it
  bool multiplies = false;       // inputs are multiplied by factor: PreMulSum, and averages of floats
  uint64_t factor = 0;           // bits of a value of type, in the lower end; of a float32 if type is a narrow float
  bool rounds_products = false;  // to type, before they are summed: an input counts like one that is ready
  rondeReduceFunction_t function = nullptr;  // of a user-defined reduction
  void* user = nullptr;                      // its last argument
  bool commutative = true;

  // op: built-in, and fits type.
  [[nodiscard]] static Reduction of(DataType type, RedOp op, int nranks, bool float32_partials);
  // The sum of inputs that have been multiplied by scalar, an element of type (its bits in the lower end).
  [[nodiscard]] static Reduction pre_mul_sum(DataType type, uint64_t scalar, bool float32_partials);
  [[nodiscard]] static Reduction user_defined(DataType type, rondeReduceFunction_t function, void* user,
                                              bool commutative);

  // Whether the factor is that of one rank: other ranks' inputs come with theirs applied.
  [[nodiscard]] bool has_own_factor() const { return multiplies && op != rondeAvg; }

  // Whether sources must be combined in the order of ranks, because another order is another result.
  [[nodiscard]] bool is_ordered() const { return function != nullptr && !commutative; }

  // Whether a partial result keeps all bits of what was computed. Then sources a, b, c ... give the same bits in one
  // call, and in many that each combine the partial result of the last one, as first source, with the next sources.
  // (Two or more sources: one alone is only copied, and keeps the bits of a NaN.)
  [[nodiscard]] bool partials_are_exact() const;

  // The type of elements with that content.
  [[nodiscard]] DataType type_of(Content content) const { return content == Content::partial ? partial : type; }
};

// Where elements come from.
struct ReduceSource {
  const void* data;  // any alignment
  Content content;   // input, ready or partial
};

// Where the combination goes to.
struct ReduceTarget {
  void* data;       // any alignment; may be equal to a source's data if both have elements of the same size, and must
                    // not overlap a source in any other way
  Content content;  // ready, partial or final
  bool streaming;   // non-temporal stores: for a large result that is not read again soon. A hint: not followed for
                    // float32 partials of a narrow type, and for two targets only where both are equally aligned
};

// targets = ((sources[0] op sources[1]) op sources[2]) op ... over count elements, element by element.
//
// sources: 1 to 256; one is copied or converted, after a multiplication if it needs one. targets: 1 or 2. count: any.
// Narrow floats are accumulated in float32 over all sources, also after a multiplication unless products are rounded,
// and rounded to nearest even once per target; both targets are made from the same accumulator. The result does not
// depend on alignment, streaming, how a range is cut into calls, or the instruction set.
//
// Minimum and maximum: NaN wins, -0 is less than +0. A NaN that was computed or converted is the positive quiet one of
// its type; where one source is only copied, bits stay as they are. The factor is multiplied in the type of arithmetic
// (integers: modulo 2^bits); that of a float average is 1 divided by nranks in float32 (float64 for float64). The
// caller's thread has the usual floating-point environment: rounding to nearest, subnormals kept.
//
// A user-defined reduction works through blocks of at most 8 KiB of each source, handed over with the alignment that
// the type needs, and collects results on the stack, so that a target may be the memory of any source. Its function is
// called by this thread and must not throw.
void reduce(const Reduction& reduction, std::span<const ReduceSource> sources, std::span<const ReduceTarget> targets,
            size_t count);

// memcpy, with non-temporal stores when streaming. Ranges must not overlap.
void copy_bytes(void* target, const void* source, size_t bytes, bool streaming);

}  // namespace ronde
