// Small whole numbers as elements of the types that runtime tests use: int8, bfloat16, float32, float64.
#pragma once

#include <cstddef>

#include "memory/data_type.h"

namespace ronde::testing {

void store_value(DataType type, std::byte* target, int value);
double load_value(DataType type, const std::byte* source);

}  // namespace ronde::testing
