#include "common/values.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace perf {
namespace {

// Which of the independent random numbers of a place.
enum Salt : std::uint64_t { kValue = 1, kSign, kScale, kBase, kBits };

// The finalizer of SplitMix64: each bit of the input changes each bit of the output with probability 1/2.
std::uint64_t mix(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

std::uint64_t noise(std::size_t index, Salt salt) { return mix(index * 8 + salt); }
std::uint64_t noise(std::size_t index, Salt salt, int rank) { return mix(noise(index, salt) + rank + 1); }

double sign_from(std::uint64_t random) { return (random >> 17) % 2 == 0 ? 1.0 : -1.0; }

// Number of this rank among those that matter at this place: 0 is a rank that changes from place to place.
int position(int nranks, int rank, std::size_t index) {
  const int base = static_cast<int>(noise(index, kBase) % static_cast<std::uint64_t>(nranks));
  return (rank - base + nranks) % nranks;
}

// Whole numbers up to this are representable.
std::uint64_t exact_whole_numbers(const TypeInfo& type) { return 1ULL << (type.mantissa_bits + 1); }

double sum_part(const TypeInfo& type, int nranks, int rank, std::size_t index) {
  const std::uint64_t limit = exact_whole_numbers(type);
  const auto n = static_cast<std::uint64_t>(nranks);
  const std::uint64_t contributors = limit / n >= 4 ? n : std::min<std::uint64_t>(n, 4);
  if (static_cast<std::uint64_t>(position(nranks, rank, index)) >= contributors) return 0;
  const std::uint64_t random = noise(index, kValue, rank);
  const double whole = static_cast<double>(1 + random % (limit / contributors));
  return sign_from(noise(index, kSign, rank)) * whole;
}

double scaled_sum_part(const TypeInfo& type, int nranks, int rank, std::size_t index) {
  const int scale = static_cast<int>(noise(index, kScale) % 4) - 2;
  return std::ldexp(sum_part(type, nranks, rank, index), scale);
}

double product_part(const TypeInfo& type, int nranks, int rank, std::size_t index) {
  const double sign = sign_from(noise(index, kSign, rank));
  switch (position(nranks, rank, index)) {
    case 0: return sign * static_cast<double>(1 + noise(index, kValue, rank) % (exact_whole_numbers(type) - 1));
    case 1: return sign * 2;
    case 2: return sign * 0.5;
    default: return sign;
  }
}

double any_value(const TypeInfo& type, int rank, std::size_t index) {
  const double whole = static_cast<double>(1 + noise(index, kValue, rank) % (exact_whole_numbers(type) - 1));
  const int scale = static_cast<int>(noise(index, kScale, rank) % 7) - 3;
  return sign_from(noise(index, kSign, rank)) * std::ldexp(whole, scale);
}

// The greatest k for which k * nranks is exact, for averages over a number of ranks that is no power of two. For
// float64 the sum of two such must be exact too, since the expected quotient is computed in that type.
std::uint64_t greatest_multiple(const TypeInfo& type, int nranks) {
  const std::uint64_t limit = exact_whole_numbers(type) / (type.type == rondeFloat64 ? 2 : 1);
  return limit / static_cast<std::uint64_t>(nranks);
}

double average_part(const TypeInfo& type, int nranks, int rank, std::size_t index) {
  // Keeps quotients of the float8 types away from their smallest values, products below their greatest.
  const int scale = std::min(static_cast<int>(std::bit_width(static_cast<unsigned>(nranks))) - 1, 4);
  if (std::has_single_bit(static_cast<unsigned>(nranks))) {
    return std::ldexp(sum_part(type, nranks, rank, index), scale);
  }
  if (position(nranks, rank, index) >= 2) return 0;
  const double sign = sign_from(noise(index, kSign));
  const std::uint64_t random = noise(index, kValue, rank);
  if (const std::uint64_t greatest = greatest_multiple(type, nranks); greatest > 0) {
    return sign * static_cast<double>(1 + random % greatest) * nranks;
  }
  return sign * std::ldexp(static_cast<double>(1 + random % (exact_whole_numbers(type) - 1)), scale);
}

double float_input(const TypeInfo& type, const Reduction& reduction, int rank, std::size_t index) {
  if (reduction.op == kMulSum) {  // no constant of the enumeration
    return scaled_sum_part(type, reduction.nranks, rank, index) / mulsum_scalar(rank);
  }
  switch (reduction.op) {
    case rondeSum: return scaled_sum_part(type, reduction.nranks, rank, index);
    case rondeProd: return product_part(type, reduction.nranks, rank, index);
    case rondeAvg: return average_part(type, reduction.nranks, rank, index);
    default: return any_value(type, rank, index);
  }
}

std::uint64_t cut(const TypeInfo& type, std::uint64_t bits) {
  return type.bytes == 8 ? bits : bits & ((1ULL << (8 * type.bytes)) - 1);
}

std::int64_t as_signed(const TypeInfo& type, std::uint64_t bits) {
  const int unused = 64 - 8 * static_cast<int>(type.bytes);
  return static_cast<std::int64_t>(bits << unused) >> unused;
}

std::uint64_t integer_input(const TypeInfo& type, const Reduction& reduction, int rank, std::size_t index) {
  const std::uint64_t random = noise(index, kValue, rank);
  if (reduction.op == rondeBitAnd || reduction.op == rondeBitOr) {
    const bool matters = position(reduction.nranks, rank, index) < 2;
    const std::uint64_t common = noise(index, kBits);
    if (reduction.op == rondeBitAnd) return cut(type, matters ? common | random : ~std::uint64_t{0});
    return matters ? cut(type, common & random) : 0;
  }
  if (reduction.op == rondeProd) return cut(type, random | 1);
  if (reduction.op != rondeAvg || index % 2 == 0) return cut(type, random);
  if (position(reduction.nranks, rank, index) >= 4) return 0;
  const int value_bits = 8 * static_cast<int>(type.bytes) - (type.kind == Kind::kSigned ? 1 : 0);
  const std::uint64_t quarter = random % (1ULL << (value_bits - 2));
  const bool negative = type.kind == Kind::kSigned && sign_from(noise(index, kSign, rank)) < 0;
  return cut(type, negative ? 0 - quarter : quarter);
}

std::uint64_t integer_expected(const TypeInfo& type, const Reduction& reduction, std::size_t index) {
  const auto input = [&](int rank) {
    const std::uint64_t value = integer_input(type, reduction, rank, index);
    return reduction.op == kMulSum ? value * static_cast<std::uint64_t>(mulsum_scalar(rank)) : value;
  };
  std::uint64_t result = cut(type, input(0));
  const auto less = [&](std::uint64_t a, std::uint64_t b) {
    return type.kind == Kind::kSigned ? as_signed(type, a) < as_signed(type, b) : a < b;
  };
  for (int rank = 1; rank < reduction.nranks; ++rank) {
    const std::uint64_t value = input(rank);
    switch (reduction.op) {
      case rondeBitAnd: result &= value; break;
      case rondeBitOr: result |= value; break;
      case rondeBitXor: result ^= value; break;
      case rondeProd: result *= value; break;
      case rondeMin: result = less(value, result) ? value : result; break;
      case rondeMax: result = less(result, value) ? value : result; break;
      default: result += value;
    }
    result = cut(type, result);
  }
  if (reduction.op != rondeAvg) return result;
  if (type.kind == Kind::kUnsigned) return result / static_cast<std::uint64_t>(reduction.nranks);
  return cut(type, static_cast<std::uint64_t>(as_signed(type, result) / reduction.nranks));
}

std::uint64_t float_expected(const TypeInfo& type, const Reduction& reduction, std::size_t index) {
  const auto input = [&](int rank) {
    return float_input(type, reduction, rank, index) * (reduction.op == kMulSum ? mulsum_scalar(rank) : 1);
  };
  double result = input(0);
  for (int rank = 1; rank < reduction.nranks; ++rank) {
    const double value = input(rank);
    switch (reduction.op) {
      case rondeProd: result *= value; break;
      case rondeMin: result = std::min(result, value); break;
      case rondeMax: result = std::max(result, value); break;
      default: result += value;
    }
  }
  return encode(type, reduction.op == rondeAvg ? result / reduction.nranks : result);
}

}  // namespace

std::uint64_t input_bits(const Reduction& reduction, int rank, std::size_t index) {
  const TypeInfo& type = type_info(reduction.type);
  if (reduction.op == kNoReduction) return cut(type, noise(index, kValue, rank));
  if (type.kind == Kind::kFloat) return encode(type, float_input(type, reduction, rank, index));
  return integer_input(type, reduction, rank, index);
}

std::uint64_t expected_bits(const Reduction& reduction, std::size_t index) {
  const TypeInfo& type = type_info(reduction.type);
  return type.kind == Kind::kFloat ? float_expected(type, reduction, index) : integer_expected(type, reduction, index);
}

int allowed_ulps(const Reduction& reduction) {
  const TypeInfo& type = type_info(reduction.type);
  if (type.kind != Kind::kFloat || reduction.op != rondeAvg) return 0;
  if (std::has_single_bit(static_cast<unsigned>(reduction.nranks))) return 0;
  const bool exact = type.mantissa_bits <= 10 && greatest_multiple(type, reduction.nranks) > 0;
  return exact ? 0 : 2;
}

}  // namespace perf
