#include "memory/data_type.h"

#include <array>

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

}  // namespace

bool is_data_type(int value) { return value >= 0 && value < rondeNumTypes; }

bool is_built_in_op(int value) { return value >= 0 && value < rondeNumOps; }

size_t element_bytes(DataType type) { return kTypes[type].bytes; }

bool is_float(DataType type) { return kTypes[type].is_float; }

bool is_narrow_float(DataType type) { return kTypes[type].is_float && kTypes[type].bytes < 4; }

std::string_view type_name(DataType type) { return is_data_type(type) ? kTypes[type].name : "?"; }

std::string_view op_name(RedOp op) { return is_built_in_op(op) ? kOps[op] : "?"; }

}  // namespace ronde
