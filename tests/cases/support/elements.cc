#include "cases/support/elements.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>

namespace ronde::cases {
namespace {

struct Format {
  const char* name;
  int bits;
  bool is_signed;
  int exponent_bits;  // of floats that this compiler has no type for; else 0
  int mantissa_bits;
};

constexpr Format kFormats[rondeNumTypes] = {
    {"int8", 8, true, 0, 0},      {"uint8", 8, false, 0, 0},   {"int32", 32, true, 0, 0},
    {"uint32", 32, false, 0, 0},  {"int64", 64, true, 0, 0},   {"uint64", 64, false, 0, 0},
    {"float16", 16, true, 5, 10}, {"float32", 32, true, 0, 0}, {"float64", 64, true, 0, 0},
    {"bfloat16", 16, true, 8, 7}, {"e4m3", 8, true, 4, 3},     {"e5m2", 8, true, 5, 2}};

// Numbers within the format's range and NaN: the situations need no more.
uint64_t encode(const Format& format, double value) {
  const int bias = (1 << (format.exponent_bits - 1)) - 1;
  const uint64_t sign = std::signbit(value) ? uint64_t{1} << (format.bits - 1) : 0;
  const uint64_t magnitude_mask = (uint64_t{1} << (format.bits - 1)) - 1;
  if (std::isnan(value)) return sign | magnitude_mask;  // all ones is a NaN in each of them
  if (value == 0) return sign;
  int exponent = 0;
  std::frexp(value, &exponent);
  exponent = std::max(exponent - 1, 1 - bias);
  auto units = static_cast<uint64_t>(std::nearbyint(std::ldexp(std::fabs(value), format.mantissa_bits - exponent)));
  if (units >> (format.mantissa_bits + 1) != 0) {
    units >>= 1;
    ++exponent;
  }
  const uint64_t hidden = uint64_t{1} << format.mantissa_bits;
  if (units < hidden) return sign | units;
  return sign | static_cast<uint64_t>(exponent + bias) << format.mantissa_bits | (units - hidden);
}

double decode(const Format& format, uint64_t bits) {
  const int bias = (1 << (format.exponent_bits - 1)) - 1;
  const double sign = bits >> (format.bits - 1) != 0 ? -1 : 1;
  const uint64_t hidden = uint64_t{1} << format.mantissa_bits;
  const uint64_t mantissa = bits & (hidden - 1);
  const int greatest = (1 << format.exponent_bits) - 1;
  const int exponent = static_cast<int>(bits >> format.mantissa_bits) & greatest;
  const bool has_infinity = format.bits == 16 || format.mantissa_bits == 2;
  if (exponent == greatest && (has_infinity || mantissa == hidden - 1)) {
    return has_infinity && mantissa == 0 ? sign * std::numeric_limits<double>::infinity()
                                         : std::numeric_limits<double>::quiet_NaN();
  }
  if (exponent == 0) return sign * std::ldexp(static_cast<double>(mantissa), 1 - bias - format.mantissa_bits);
  return sign * std::ldexp(static_cast<double>(mantissa + hidden), exponent - bias - format.mantissa_bits);
}

// The bits read as an integer of that type.
double integer_value(const Format& format, uint64_t bits) {
  const int unused = 64 - format.bits;
  if (!format.is_signed) return static_cast<double>(bits << unused >> unused);
  return static_cast<double>(static_cast<int64_t>(bits << unused) >> unused);
}

double reduced_integer(const Format& format, rondeRedOp_t op, const std::vector<double>& inputs) {
  uint64_t bits = op == rondeProd ? 1 : 0;
  for (const double input : inputs) {
    const auto one = static_cast<uint64_t>(static_cast<int64_t>(input));
    bits = op == rondeProd ? bits * one : bits + one;
  }
  const double value = integer_value(format, bits);
  return op == rondeAvg ? std::trunc(value / static_cast<double>(inputs.size())) : value;
}

}  // namespace

const std::vector<rondeDataType_t>& all_types() {
  static const std::vector<rondeDataType_t> types = [] {
    std::vector<rondeDataType_t> all;
    for (int type = 0; type < rondeNumTypes; ++type) all.push_back(static_cast<rondeDataType_t>(type));
    return all;
  }();
  return types;
}

const std::vector<rondeDataType_t>& float_types() {
  static const std::vector<rondeDataType_t> types = {rondeFloat16, rondeBfloat16, rondeFloat32, rondeFloat64};
  return types;
}

const std::vector<rondeRedOp_t>& all_ops() {
  static const std::vector<rondeRedOp_t> ops = {rondeSum, rondeProd, rondeMax, rondeMin, rondeAvg};
  return ops;
}

std::string name_of(rondeDataType_t type) { return kFormats[type].name; }

std::string name_of(rondeRedOp_t op) {
  static constexpr const char* kNames[] = {"sum", "prod", "max", "min", "avg"};
  return kNames[op];
}

bool is_float(rondeDataType_t type) { return type >= rondeFloat16; }

size_t bytes_of(rondeDataType_t type) { return static_cast<size_t>(kFormats[type].bits) / 8; }

void put(rondeDataType_t type, void* elements, size_t index, double value) {
  const Format& format = kFormats[type];
  void* at = static_cast<char*>(elements) + index * bytes_of(type);
  if (type == rondeFloat32) {
    const auto narrow = static_cast<float>(value);
    std::memcpy(at, &narrow, sizeof narrow);
  } else if (type == rondeFloat64) {
    std::memcpy(at, &value, sizeof value);
  } else {
    const uint64_t bits =
        format.exponent_bits > 0 ? encode(format, value) : static_cast<uint64_t>(static_cast<int64_t>(value));
    std::memcpy(at, &bits, bytes_of(type));  // little-endian
  }
}

double get(rondeDataType_t type, const void* elements, size_t index) {
  const Format& format = kFormats[type];
  const void* at = static_cast<const char*>(elements) + index * bytes_of(type);
  if (type == rondeFloat32) {
    float value = 0;
    std::memcpy(&value, at, sizeof value);
    return value;
  }
  if (type == rondeFloat64) {
    double value = 0;
    std::memcpy(&value, at, sizeof value);
    return value;
  }
  uint64_t bits = 0;
  std::memcpy(&bits, at, bytes_of(type));
  return format.exponent_bits > 0 ? decode(format, bits) : integer_value(format, bits);
}

double reduced(rondeDataType_t type, rondeRedOp_t op, const std::vector<double>& inputs) {
  if (op == rondeMax) return *std::max_element(inputs.begin(), inputs.end());
  if (op == rondeMin) return *std::min_element(inputs.begin(), inputs.end());
  if (!is_float(type)) return reduced_integer(kFormats[type], op, inputs);
  double value = op == rondeProd ? 1 : 0;
  for (const double input : inputs) value = op == rondeProd ? value * input : value + input;
  return op == rondeAvg ? value / static_cast<double>(inputs.size()) : value;
}

}  // namespace ronde::cases
