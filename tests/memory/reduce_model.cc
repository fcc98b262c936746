#include "memory/reduce_model.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

namespace ronde::test {
namespace {

struct Layout {
  int exponent_bits;
  int mantissa_bits;
  bool ieee;  // the greatest exponent means infinity and NaN; else only all ones is NaN
};

Layout layout_of(DataType type) {
  switch (type) {
    case rondeFloat16: return {5, 10, true};
    case rondeBfloat16: return {8, 7, true};
    case rondeFloat8e4m3: return {4, 3, false};
    default: return {5, 2, true};
  }
}

double narrow_value(DataType type, uint64_t bits) {
  const Layout layout = layout_of(type);
  const int mantissa = static_cast<int>(bits & ((1u << layout.mantissa_bits) - 1));
  const int exponent = static_cast<int>((bits >> layout.mantissa_bits) & ((1u << layout.exponent_bits) - 1));
  const bool negative = (bits >> (layout.mantissa_bits + layout.exponent_bits)) != 0;
  const int greatest = (1 << layout.exponent_bits) - 1;
  const int bias = greatest / 2;
  double magnitude;
  if (layout.ieee && exponent == greatest) {
    magnitude = mantissa == 0 ? std::numeric_limits<double>::infinity() : std::nan("");
  } else if (!layout.ieee && exponent == greatest && mantissa == (1 << layout.mantissa_bits) - 1) {
    magnitude = std::nan("");
  } else if (exponent == 0) {
    magnitude = std::ldexp(mantissa, 1 - bias - layout.mantissa_bits);
  } else {
    magnitude = std::ldexp(mantissa + (1 << layout.mantissa_bits), exponent - bias - layout.mantissa_bits);
  }
  return negative ? -magnitude : magnitude;
}

// All finite magnitudes of a narrow type, ascending: the index is the element's bits.
const std::vector<double>& finite_magnitudes(DataType type) {
  static std::array<std::vector<double>, rondeNumTypes> tables;
  std::vector<double>& table = tables[type];
  if (table.empty()) {
    for (uint64_t bits = 0; std::isfinite(narrow_value(type, bits)); ++bits) table.push_back(narrow_value(type, bits));
  }
  return table;
}

uint64_t narrow_bits(DataType type, double value, Rounding rounding) {
  const Layout layout = layout_of(type);
  const std::vector<double>& table = finite_magnitudes(type);
  const bool is_float8 = type == rondeFloat8e4m3 || type == rondeFloat8e5m2;
  if (std::isnan(value)) {  // the positive quiet one
    if (!layout.ieee) return table.size();
    return table.size() | (uint64_t{1} << (layout.mantissa_bits - 1));
  }
  const double magnitude = std::fabs(value);
  uint64_t bits;
  if (magnitude > table.back()) {
    // Half a step beyond the greatest finite value the next power of two would be nearer, or equally near and even.
    const double half_step = (table.back() - table[table.size() - 2]) / 2;
    const bool overflows = rounding == Rounding::nearest_even && magnitude >= table.back() + half_step;
    const bool infinite = !is_float8 && (overflows || std::isinf(magnitude));
    bits = infinite ? table.size() : table.size() - 1;
  } else {
    bits = static_cast<uint64_t>(std::lower_bound(table.begin(), table.end(), magnitude) - table.begin());
    if (table[bits] != magnitude) {
      const double below = magnitude - table[bits - 1];
      const double above = table[bits] - magnitude;
      if (rounding == Rounding::toward_zero || below < above || (below == above && bits % 2 == 1)) --bits;
    }
  }
  const uint64_t sign = std::signbit(value) ? uint64_t{1} << (layout.mantissa_bits + layout.exponent_bits) : 0;
  return bits | sign;
}

template <class Float>
Float combine_floats(RedOp op, Float a, Float b) {
  switch (op) {
    case rondeProd: return a * b;
    case rondeMax:
    case rondeMin:
      if (std::isnan(a) || std::isnan(b)) return std::numeric_limits<Float>::quiet_NaN();
      if (a == b) return std::signbit(a) == (op == rondeMin) ? a : b;
      return (a < b) == (op == rondeMin) ? a : b;
    default: return a + b;
  }
}

int64_t sign_extended(DataType type, uint64_t bits) {
  const int unused = 64 - 8 * static_cast<int>(element_bytes(type));
  return static_cast<int64_t>(bits << unused) >> unused;
}

bool is_signed(DataType type) { return type == rondeInt8 || type == rondeInt32 || type == rondeInt64; }

uint64_t combine_integers(DataType type, RedOp op, uint64_t a, uint64_t b) {
  const bool less = is_signed(type) ? sign_extended(type, a) < sign_extended(type, b) : a < b;
  switch (op) {
    case rondeProd: return a * b;
    case rondeMax: return less ? b : a;
    case rondeMin: return less ? a : b;
    case rondeBitAnd: return a & b;
    case rondeBitOr: return a | b;
    case rondeBitXor: return a ^ b;
    default: return a + b;
  }
}

uint64_t divided(DataType type, uint64_t bits, int nranks) {
  if (!is_signed(type)) return bits / static_cast<uint64_t>(nranks);
  const int64_t value = sign_extended(type, bits);
  // The only quotient that does not fit would be of -1, which a number of ranks is not.
  return static_cast<uint64_t>(value / nranks);
}

uint64_t read(DataType type, const void* data, size_t index) {
  uint64_t bits = 0;
  const size_t bytes = element_bytes(type);
  std::memcpy(&bits, static_cast<const uint8_t*>(data) + index * bytes, bytes);
  return bits;
}

void write(DataType type, void* data, size_t index, uint64_t bits) {
  const size_t bytes = element_bytes(type);
  std::memcpy(static_cast<uint8_t*>(data) + index * bytes, &bits, bytes);
}

// What inputs are multiplied by.
template <class Float>
Float float_factor(const Reduction& reduction) {
  if (reduction.op == rondeAvg) return Float{1} / static_cast<Float>(reduction.nranks);
  const DataType type = reduction.type == rondeFloat64 ? rondeFloat64 : rondeFloat32;
  return static_cast<Float>(float_value(type, reduction.factor));
}

// Float is the type of arithmetic: float for all but float64.
template <class Float>
Float combined(const Reduction& reduction, std::span<const ReduceSource> sources, size_t index) {
  Float result = 0;
  for (size_t s = 0; s < sources.size(); ++s) {
    const DataType type = reduction.type_of(sources[s].content);
    Float value = static_cast<Float>(float_value(type, read(type, sources[s].data, index)));
    if (reduction.multiplies && sources[s].content == Content::input) value *= float_factor<Float>(reduction);
    result = s == 0 ? value : combine_floats(reduction.op, result, value);
  }
  return result;
}

uint64_t combined_integers(const Reduction& reduction, std::span<const ReduceSource> sources, size_t index) {
  const size_t bits = 8 * element_bytes(reduction.type);
  const uint64_t mask = bits < 64 ? (uint64_t{1} << bits) - 1 : ~uint64_t{0};
  uint64_t result = 0;
  for (size_t s = 0; s < sources.size(); ++s) {
    uint64_t value = read(reduction.type, sources[s].data, index);
    if (reduction.multiplies && sources[s].content == Content::input) value = value * reduction.factor & mask;
    result = s == 0 ? value : combine_integers(reduction.type, reduction.op, result, value) & mask;
  }
  return result;
}

// By the user's function, one element at a time.
uint64_t combined_by_function(const Reduction& reduction, std::span<const ReduceSource> sources, size_t index) {
  uint64_t result = read(reduction.type, sources[0].data, index);
  for (const ReduceSource& source : sources.subspan(1)) {
    const uint64_t left = result;
    const uint64_t right = read(reduction.type, source.data, index);
    reduction.function(&left, &right, &result, 1, reduction.type, reduction.user);
  }
  return result;
}

// One source, and nothing to reckon for any target: then a NaN keeps its bits.
bool only_copies(const Reduction& reduction, std::span<const ReduceSource> sources,
                 std::span<const ReduceTarget> targets) {
  if (sources.size() != 1 || (reduction.multiplies && sources[0].content == Content::input)) return false;
  return std::all_of(targets.begin(), targets.end(), [&](const ReduceTarget& target) {
    return reduction.type_of(target.content) == reduction.type_of(sources[0].content);
  });
}

}  // namespace

double float_value(DataType type, uint64_t bits) {
  if (type == rondeFloat32) return std::bit_cast<float>(static_cast<uint32_t>(bits));
  if (type == rondeFloat64) return std::bit_cast<double>(bits);
  return narrow_value(type, bits);
}

uint64_t float_bits(DataType type, double value, Rounding rounding) {
  if (type == rondeFloat64) return std::isnan(value) ? 0x7ff8000000000000 : std::bit_cast<uint64_t>(value);
  if (type != rondeFloat32) return narrow_bits(type, value, rounding);
  return std::isnan(value) ? 0x7fc00000 : std::bit_cast<uint32_t>(static_cast<float>(value));
}

void model_reduce(const Reduction& reduction, std::span<const ReduceSource> sources,
                  std::span<const ReduceTarget> targets, size_t count, Rounding rounding) {
  const bool copies = only_copies(reduction, sources, targets);
  const bool by_function = reduction.function != nullptr;
  const bool by_floats = is_float(reduction.type) && !by_function;
  for (size_t i = 0; i < count; ++i) {
    uint64_t integer = 0;
    double value = 0;
    if (by_function) {
      integer = combined_by_function(reduction, sources, i);
    } else if (!by_floats) {
      integer = combined_integers(reduction, sources, i);
    } else if (reduction.type == rondeFloat64) {
      value = combined<double>(reduction, sources, i);
    } else {
      value = combined<float>(reduction, sources, i);
    }
    const uint64_t first = read(reduction.type_of(sources[0].content), sources[0].data, i);
    for (const ReduceTarget& target : targets) {
      const DataType to = reduction.type_of(target.content);
      uint64_t bits = integer;
      if (by_floats) {
        bits = copies ? first : float_bits(to, value, rounding);
      } else if (reduction.op == rondeAvg && target.content == Content::final) {
        bits = divided(reduction.type, integer, reduction.nranks);
      }
      write(to, target.data, i, bits);
    }
  }
}

}  // namespace ronde::test
