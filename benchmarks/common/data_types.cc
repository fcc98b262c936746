#include "common/data_types.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <utility>

namespace perf {

// In the order of their numbers.
const std::vector<TypeInfo>& all_types() {
  static const std::vector<TypeInfo> types = {
      {rondeInt8, "int8", 1, Kind::kSigned, 0, 0, 0, 0},
      {rondeUint8, "uint8", 1, Kind::kUnsigned, 0, 0, 0, 0},
      {rondeInt32, "int32", 4, Kind::kSigned, 0, 0, 0, 0},
      {rondeUint32, "uint32", 4, Kind::kUnsigned, 0, 0, 0, 0},
      {rondeInt64, "int64", 8, Kind::kSigned, 0, 0, 0, 0},
      {rondeUint64, "uint64", 8, Kind::kUnsigned, 0, 0, 0, 0},
      {rondeFloat16, "half", 2, Kind::kFloat, 10, 15, 0x7bff, 0x7c00},
      {rondeFloat32, "float", 4, Kind::kFloat, 23, 127, 0x7f7fffff, 0x7f800000},
      {rondeFloat64, "double", 8, Kind::kFloat, 52, 1023, 0x7fefffffffffffff, 0x7ff0000000000000},
      {rondeBfloat16, "bfloat16", 2, Kind::kFloat, 7, 127, 0x7f7f, 0x7f80},
      {rondeFloat8e4m3, "f8e4m3", 1, Kind::kFloat, 3, 7, 0x7e, 0x7e},
      {rondeFloat8e5m2, "f8e5m2", 1, Kind::kFloat, 2, 15, 0x7b, 0x7b},
  };
  return types;
}

const std::vector<OpInfo>& all_ops() {
  static const std::vector<OpInfo> ops = {
      {rondeSum, "sum"},           {rondeProd, "prod"},       {rondeMax, "max"},
      {rondeMin, "min"},           {rondeAvg, "avg"},         {kMulSum, "mulsum"},
      {rondeBitAnd, "band", true}, {rondeBitOr, "bor", true}, {rondeBitXor, "bxor", true}};
  return ops;
}

const TypeInfo& type_info(rondeDataType_t type) {
  const auto place = static_cast<std::size_t>(type);
  return place < all_types().size() ? all_types()[place] : all_types().front();
}

const char* op_name(rondeRedOp_t op) {
  for (const OpInfo& info : all_ops()) {
    if (info.op == op) return info.name;
  }
  return "none";
}

bool fits(rondeRedOp_t op, rondeDataType_t type) {
  for (const OpInfo& info : all_ops()) {
    if (info.op == op) return !info.integers_only || type_info(type).kind != Kind::kFloat;
  }
  return true;
}

std::optional<rondeDataType_t> type_from_name(std::string_view name) {
  for (const TypeInfo& info : all_types()) {
    if (info.name == name) return info.type;
  }
  // The names of the library's own header.
  constexpr std::pair<std::string_view, rondeDataType_t> kOtherNames[] = {
      {"float16", rondeFloat16},      {"fp16", rondeFloat16},  {"float32", rondeFloat32},
      {"float64", rondeFloat64},      {"bf16", rondeBfloat16}, {"float8e4m3", rondeFloat8e4m3},
      {"float8e5m2", rondeFloat8e5m2}};
  for (const auto& [other, type] : kOtherNames) {
    if (other == name) return type;
  }
  return std::nullopt;
}

std::optional<rondeRedOp_t> op_from_name(std::string_view name) {
  for (const OpInfo& info : all_ops()) {
    if (info.name == name) return info.op;
  }
  return std::nullopt;
}

namespace {

std::uint64_t sign_bit(const TypeInfo& type) { return 1ULL << (8 * type.bytes - 1); }

bool is_nan(const TypeInfo& type, std::uint64_t bits) {
  // e4m3 has no infinity: one above its greatest finite value is NaN already.
  const std::uint64_t infinity = type.type == rondeFloat8e4m3 ? type.greatest_finite : type.greatest_finite + 1;
  return (bits & ~sign_bit(type)) > infinity;
}

}  // namespace

double decode(const TypeInfo& type, std::uint64_t bits) {
  if (is_nan(type, bits)) return std::numeric_limits<double>::quiet_NaN();
  const double sign = (bits & sign_bit(type)) != 0 ? -1.0 : 1.0;
  const std::uint64_t magnitude = bits & ~sign_bit(type);
  if (magnitude > type.greatest_finite) return sign * std::numeric_limits<double>::infinity();
  const std::uint64_t mantissa = magnitude & ((1ULL << type.mantissa_bits) - 1);
  const int exponent = static_cast<int>(magnitude >> type.mantissa_bits);
  if (exponent == 0) return sign * std::ldexp(static_cast<double>(mantissa), 1 - type.bias - type.mantissa_bits);
  const double significand = static_cast<double>(mantissa + (1ULL << type.mantissa_bits));
  return sign * std::ldexp(significand, exponent - type.bias - type.mantissa_bits);
}

std::uint64_t encode(const TypeInfo& type, double value) {
  const std::uint64_t sign = std::signbit(value) ? sign_bit(type) : 0;
  if (std::isnan(value)) return sign_bit(type) - 1;
  const double magnitude = std::fabs(value);
  if (magnitude == 0) return sign;
  if (std::isinf(magnitude)) return sign | type.overflow;
  int exponent = 0;
  std::frexp(magnitude, &exponent);
  exponent = std::max(exponent - 1, 1 - type.bias);
  const double units = std::nearbyint(std::ldexp(magnitude, type.mantissa_bits - exponent));
  // The hidden bit of a normal number carries one into the exponent field; so does rounding up to the next power.
  const auto steps = static_cast<std::uint64_t>(exponent + type.bias - 1) << type.mantissa_bits;
  const std::uint64_t bits = steps + static_cast<std::uint64_t>(units);
  return sign | (bits > type.greatest_finite ? type.overflow : bits);
}

std::uint64_t load_bits(const TypeInfo& type, const std::byte* from) {
  static_assert(std::endian::native == std::endian::little, "elements are read into the low bytes of a word");
  std::uint64_t bits = 0;
  std::memcpy(&bits, from, type.bytes);
  return bits;
}

void store_bits(const TypeInfo& type, std::uint64_t bits, std::byte* to) { std::memcpy(to, &bits, type.bytes); }

std::uint64_t ulps_between(const TypeInfo& type, std::uint64_t a, std::uint64_t b) {
  if (is_nan(type, a) || is_nan(type, b)) return a == b ? 0 : std::numeric_limits<std::uint64_t>::max();
  const auto ordered = [&](std::uint64_t bits) {
    const auto magnitude = static_cast<std::int64_t>(bits & ~sign_bit(type));
    return (bits & sign_bit(type)) != 0 ? -magnitude : magnitude;
  };
  const std::int64_t x = ordered(a);
  const std::int64_t y = ordered(b);
  return x > y ? static_cast<std::uint64_t>(x) - static_cast<std::uint64_t>(y)
               : static_cast<std::uint64_t>(y) - static_cast<std::uint64_t>(x);
}

}  // namespace perf
