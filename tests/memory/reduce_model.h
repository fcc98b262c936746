// What reduce() must do, written for clearness and from the definitions of the formats, without the code under test.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "memory/reduce.h"

namespace ronde::test {

enum class Rounding { nearest_even, toward_zero };

// The exact value of an element of a float type; its bits in the lower end.
double float_value(DataType type, uint64_t bits);

// The element of a narrow float type or float32 that is the rounding of value; overflow and NaN as in ronde.h.
uint64_t float_bits(DataType type, double value, Rounding rounding = Rounding::nearest_even);

// As reduce(). rounding other than nearest_even makes a model that is wrong, to prove that a comparison can fail.
void model_reduce(const Reduction& reduction, std::span<const ReduceSource> sources,
                  std::span<const ReduceTarget> targets, size_t count, Rounding rounding = Rounding::nearest_even);

}  // namespace ronde::test
