#include "memory/data_type.h"

#include <array>
#include <bit>
#include <cstring>

namespace ronde {
namespace {

struct TypeInfo {
  std::string_view name;
  size_t bytes;
  bool is_float;
};

// In the order of rondeDataType_t.
constexpr std::array<TypeInfo, rondeNumTypes> kTypes = {{{"int8", 1, false},
                                                         {"uint8", 1, false},
                                                         {"int32", 4, false},
                                                         {"uint32", 4, false},
                                                         {"int64", 8, false},
                                                         {"uint64", 8, false},
                                                         {"float16", 2, true},
                                                         {"float32", 4, true},
                                                         {"float64", 8, true},
                                                         {"bfloat16", 2, true},
                                                         {"float8e4m3", 1, true},
                                                         {"float8e5m2", 1, true}}};

constexpr std::array<std::string_view, rondeNumOps> kOps = {"sum", "prod", "max", "min", "avg"};

// From rondeBitAnd on.
constexpr std::array<std::string_view, 3> kBitwiseOps = {"bit_and", "bit_or", "bit_xor"};

// Codes of the bitwise reductions, from here on.
constexpr uint8_t kBitwiseCode = 0x40;

}  // namespace

bool is_data_type(int value) { return value >= 0 && value < rondeNumTypes; }

bool is_built_in_op(int value) { return (value >= 0 && value < rondeNumOps) || is_bitwise(static_cast<RedOp>(value)); }

bool is_bitwise(RedOp op) { return op >= rondeBitAnd && op <= rondeBitXor; }

bool reduction_fits(DataType type, RedOp op) { return !is_bitwise(op) || !is_float(type); }

size_t element_bytes(DataType type) { return kTypes[type].bytes; }

bool is_float(DataType type) { return kTypes[type].is_float; }

bool is_narrow_float(DataType type) { return kTypes[type].is_float && kTypes[type].bytes < 4; }

uint64_t read_element(DataType type, const void* data) {
  static_assert(std::endian::native == std::endian::little);
  uint64_t bits = 0;
  std::memcpy(&bits, data, element_bytes(type));
  return bits;
}

std::string_view type_name(DataType type) { return is_data_type(type) ? kTypes[type].name : "?"; }

std::string_view op_name(RedOp op) {
  if (is_bitwise(op)) return kBitwiseOps[static_cast<size_t>(op - rondeBitAnd)];
  return is_built_in_op(op) ? kOps[op] : "?";
}

uint8_t op_code(RedOp op) { return static_cast<uint8_t>(is_bitwise(op) ? op - rondeBitAnd + kBitwiseCode : op); }

RedOp op_of_code(uint8_t code) {
  return static_cast<RedOp>(code < kBitwiseCode ? code : code - kBitwiseCode + rondeBitAnd);
}

}  // namespace ronde
