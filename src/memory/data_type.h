// Element types and reductions: sizes, names, and which of them are what. Pure functions over the enums of ronde.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "ronde/ronde.h"

namespace ronde {

using DataType = rondeDataType_t;
using RedOp = rondeRedOp_t;

[[nodiscard]] bool is_data_type(int value);
[[nodiscard]] bool is_built_in_op(int value);
// rondeBitAnd, rondeBitOr, rondeBitXor.
[[nodiscard]] bool is_bitwise(RedOp op);
// Whether elements of type can be reduced with a built-in op: all but floats bit by bit.
[[nodiscard]] bool reduction_fits(DataType type, RedOp op);

// Bytes of one element: 1, 2, 4 or 8. type must be one.
[[nodiscard]] size_t element_bytes(DataType type);

[[nodiscard]] bool is_float(DataType type);
// float16, bfloat16 and both float8: arithmetic happens in float32.
[[nodiscard]] bool is_narrow_float(DataType type);

// The bits of an element of type at data, of any alignment, in the lower end.
[[nodiscard]] uint64_t read_element(DataType type, const void* data);

// Names as in messages: "float16", "sum". "?" for a number that is none.
[[nodiscard]] std::string_view type_name(DataType type);
[[nodiscard]] std::string_view op_name(RedOp op);

// One byte for a built-in reduction, as records keep it; and back. What is no code becomes no reduction.
[[nodiscard]] uint8_t op_code(RedOp op);
[[nodiscard]] RedOp op_of_code(uint8_t code);

}  // namespace ronde
