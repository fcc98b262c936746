// The narrow float formats and their conversions from and to float32, one value at a time, bit for bit: round to
// nearest, ties to even; subnormals kept; every NaN becomes the positive quiet one. The kernels do the same in lanes.
#pragma once

#include <bit>
#include <cstdint>

namespace ronde {

// Bits of a float format of at most 16 bits, 1 of them the sign.
struct FloatFormat {
  int bits;
  int mantissa_bits;
  int exponent_bias;
  uint32_t max_finite;  // bits of the greatest finite value
  uint32_t nan;         // the positive quiet NaN
  bool has_infinity;    // the greatest exponent is kept for infinity and NaN
  bool saturates;       // conversion gives max_finite instead of infinity

  constexpr int slices() const { return 32 / bits; }
  constexpr uint32_t magnitude_mask() const { return (1u << (bits - 1)) - 1; }
  constexpr int mantissa_shift() const { return 23 - mantissa_bits; }
  // Exponent fields of float32.
  constexpr uint32_t rebias() const { return static_cast<uint32_t>(127 - exponent_bias) << 23; }
  constexpr uint32_t min_normal() const { return rebias() + (1u << 23); }
  // The float32 whose last place is this format's smallest subnormal: adding it rounds a subnormal.
  constexpr uint32_t subnormal_magic() const { return rebias() + (static_cast<uint32_t>(mantissa_shift() + 1) << 23); }
  constexpr uint32_t infinity() const { return max_finite + 1; }  // where has_infinity
  // Magnitudes from here on, shifted to float32's mantissa, are infinity or NaN.
  constexpr uint32_t special_from() const { return (has_infinity ? infinity() : nan) << mantissa_shift(); }
  constexpr uint32_t max_finite_float32() const { return (max_finite << mantissa_shift()) + rebias(); }
};

inline constexpr FloatFormat kFloat16 = {16, 10, 15, 0x7bff, 0x7e00, true, false};
inline constexpr FloatFormat kFloat8e4m3 = {8, 3, 7, 0x7e, 0x7f, false, true};
inline constexpr FloatFormat kFloat8e5m2 = {8, 2, 15, 0x7b, 0x7e, true, true};

inline constexpr uint32_t kFloat32Nan = 0x7fc00000;
inline constexpr uint32_t kFloat32Infinity = 0x7f800000;
inline constexpr uint64_t kFloat64Nan = 0x7ff8000000000000;
inline constexpr uint32_t kBfloat16Nan = 0x7fc0;

[[nodiscard]] constexpr float narrow_to_float32(const FloatFormat& format, uint32_t value) {
  const uint32_t magnitude = (value & format.magnitude_mask()) << format.mantissa_shift();
  uint32_t bits = magnitude + format.rebias();
  if (magnitude < (1u << 23)) {
    bits = std::bit_cast<uint32_t>(std::bit_cast<float>(magnitude + format.min_normal()) -
                                   std::bit_cast<float>(format.min_normal()));
  } else if (magnitude >= format.special_from()) {
    const bool infinite = format.has_infinity && magnitude == format.special_from();
    bits = infinite ? kFloat32Infinity : kFloat32Nan;
    if (!infinite) return std::bit_cast<float>(bits);
  }
  const uint32_t sign = (value >> (format.bits - 1)) << 31;
  return std::bit_cast<float>(bits | sign);
}

[[nodiscard]] constexpr uint32_t float32_to_narrow(const FloatFormat& format, float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  uint32_t magnitude = bits & 0x7fffffff;
  if (magnitude > kFloat32Infinity) return format.nan;
  if (format.saturates && magnitude > format.max_finite_float32()) magnitude = format.max_finite_float32();
  uint32_t narrow = 0;
  if (magnitude < format.min_normal()) {
    const float sum = std::bit_cast<float>(magnitude) + std::bit_cast<float>(format.subnormal_magic());
    narrow = std::bit_cast<uint32_t>(sum) - format.subnormal_magic();
  } else {
    const uint32_t odd = (magnitude >> format.mantissa_shift()) & 1;
    const uint32_t half = (1u << (format.mantissa_shift() - 1)) - 1;
    narrow = (magnitude - format.rebias() + half + odd) >> format.mantissa_shift();
    if (!format.saturates && narrow > format.infinity()) narrow = format.infinity();
  }
  return narrow | ((bits >> 31) << (format.bits - 1));
}

[[nodiscard]] constexpr float float16_to_float32(uint16_t value) { return narrow_to_float32(kFloat16, value); }
[[nodiscard]] constexpr float float8e4m3_to_float32(uint8_t value) { return narrow_to_float32(kFloat8e4m3, value); }
[[nodiscard]] constexpr float float8e5m2_to_float32(uint8_t value) { return narrow_to_float32(kFloat8e5m2, value); }

[[nodiscard]] constexpr uint16_t float32_to_float16(float value) {
  return static_cast<uint16_t>(float32_to_narrow(kFloat16, value));
}
// Beyond 448, infinity too: 448 with the sign.
[[nodiscard]] constexpr uint8_t float32_to_float8e4m3(float value) {
  return static_cast<uint8_t>(float32_to_narrow(kFloat8e4m3, value));
}
// Beyond 57344, infinity too: 57344 with the sign.
[[nodiscard]] constexpr uint8_t float32_to_float8e5m2(float value) {
  return static_cast<uint8_t>(float32_to_narrow(kFloat8e5m2, value));
}

[[nodiscard]] constexpr float bfloat16_to_float32(uint16_t value) {
  const uint32_t bits = static_cast<uint32_t>(value) << 16;
  return std::bit_cast<float>((bits & 0x7fffffff) > kFloat32Infinity ? kFloat32Nan : bits);
}

[[nodiscard]] constexpr uint16_t float32_to_bfloat16(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  if ((bits & 0x7fffffff) > kFloat32Infinity) return static_cast<uint16_t>(kBfloat16Nan);
  return static_cast<uint16_t>((bits + 0x7fff + ((bits >> 16) & 1)) >> 16);
}

}  // namespace ronde
