// Names, widths and number formats of the element types and reductions, as the command line and the table show them.
// The conversions are written here again, on purpose: what checks the library must not share its code.
#pragma once

#include <ronde/ronde.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace perf {

enum class Kind { kSigned, kUnsigned, kFloat };

struct TypeInfo {
  rondeDataType_t type;
  const char* name;
  std::size_t bytes;
  Kind kind;
  // Floats only: stored mantissa bits, exponent bias, greatest finite bits without sign, bits of what lies beyond.
  int mantissa_bits;
  int bias;
  std::uint64_t greatest_finite;
  std::uint64_t overflow;
};

// PreMulSum, under the name that nccl-tests gives it. A number of our own: each rank makes the reduction on its
// communicator.
inline constexpr auto kMulSum = static_cast<rondeRedOp_t>(rondeMaxRedOp - 1);

struct OpInfo {
  rondeRedOp_t op;
  const char* name;
  bool integers_only = false;
};

const std::vector<TypeInfo>& all_types();
const std::vector<OpInfo>& all_ops();
const TypeInfo& type_info(rondeDataType_t type);
const char* op_name(rondeRedOp_t op);
// Whether there is this reduction for elements of this type. Also true of what is no reduction.
bool fits(rondeRedOp_t op, rondeDataType_t type);
std::optional<rondeDataType_t> type_from_name(std::string_view name);
std::optional<rondeRedOp_t> op_from_name(std::string_view name);

// The value of bits of a float type. Exact.
double decode(const TypeInfo& type, std::uint64_t bits);

// Rounds to nearest, ties to even; too great becomes infinity, or the greatest finite value for float8.
std::uint64_t encode(const TypeInfo& type, double value);

// Elements in memory, in the byte order of this machine.
std::uint64_t load_bits(const TypeInfo& type, const std::byte* from);
void store_bits(const TypeInfo& type, std::uint64_t bits, std::byte* to);

// How many representable values lie between a and b; +0 and -0 are the same value. NaN is infinitely far.
std::uint64_t ulps_between(const TypeInfo& type, std::uint64_t a, std::uint64_t b);

}  // namespace perf
