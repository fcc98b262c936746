// How a vector of raw elements becomes vectors that can be reckoned with, and back: one format for each kind of
// element. Compiled once for each instruction set (Highway's foreach_target), hence no #pragma once.
//
// A format has: Raw (tag of a vector as it lies in memory), Lanes (tag of the arithmetic), Unit (the lanes of one raw
// vector), decode, encode; and, for narrow floats, load_wide and store_wide for the same elements as float32. encode
// makes every NaN the positive quiet one, so that bits do not depend on the order in which a compiler puts operands.
#if defined(RONDE_MEMORY_REDUCE_FORMATS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef RONDE_MEMORY_REDUCE_FORMATS_INL_H_
#undef RONDE_MEMORY_REDUCE_FORMATS_INL_H_
#else
#define RONDE_MEMORY_REDUCE_FORMATS_INL_H_
#endif

#include <hwy/highway.h>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "memory/float_formats.h"

HWY_BEFORE_NAMESPACE();
namespace ronde {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Vectors that stay in registers: indices are constants everywhere.
template <class V, size_t kNumber>
struct Pack {
  static constexpr size_t kVectors = kNumber;
  V v[kNumber];
};

template <class T>
struct PlainFormat {
  using Raw = hn::ScalableTag<T>;
  using Lanes = Raw;
  using Unit = Pack<hn::Vec<Lanes>, 1>;
  static constexpr size_t kElementBytes = sizeof(T);
  static constexpr bool kNarrow = false;

  static HWY_INLINE Unit decode(hn::Vec<Raw> raw) { return {{raw}}; }

  static HWY_INLINE hn::Vec<Raw> encode(const Unit& unit) {
    if constexpr (std::is_floating_point_v<T>) {
      const hn::Vec<Raw> nan = hn::Set(Raw(), std::numeric_limits<T>::quiet_NaN());
      return hn::IfThenElse(hn::IsNaN(unit.v[0]), nan, unit.v[0]);
    } else {
      return unit.v[0];
    }
  }
};

using BitsTag = hn::ScalableTag<uint32_t>;
using FloatTag = hn::ScalableTag<float>;
using Bits = hn::Vec<BitsTag>;
using Floats = hn::Vec<FloatTag>;

// Lanes 4i+k (2i+k) of a sequence of float32 are lane i of vector k.
HWY_INLINE void load_interleaved(const float* from, Pack<Floats, 2>& unit) {
#if HWY_TARGET == HWY_SCALAR
  for (size_t k = 0; k < 2; ++k) unit.v[k] = hn::LoadU(FloatTag(), from + k);
#else
  hn::LoadInterleaved2(FloatTag(), from, unit.v[0], unit.v[1]);
#endif
}

HWY_INLINE void load_interleaved(const float* from, Pack<Floats, 4>& unit) {
#if HWY_TARGET == HWY_SCALAR
  for (size_t k = 0; k < 4; ++k) unit.v[k] = hn::LoadU(FloatTag(), from + k);
#else
  hn::LoadInterleaved4(FloatTag(), from, unit.v[0], unit.v[1], unit.v[2], unit.v[3]);
#endif
}

HWY_INLINE void store_interleaved(const Pack<Floats, 2>& unit, float* to) {
#if HWY_TARGET == HWY_SCALAR
  for (size_t k = 0; k < 2; ++k) hn::StoreU(unit.v[k], FloatTag(), to + k);
#else
  hn::StoreInterleaved2(unit.v[0], unit.v[1], FloatTag(), to);
#endif
}

HWY_INLINE void store_interleaved(const Pack<Floats, 4>& unit, float* to) {
#if HWY_TARGET == HWY_SCALAR
  for (size_t k = 0; k < 4; ++k) hn::StoreU(unit.v[k], FloatTag(), to + k);
#else
  hn::StoreInterleaved4(unit.v[0], unit.v[1], unit.v[2], unit.v[3], FloatTag(), to);
#endif
}

HWY_INLINE Floats canonical(Floats value) { return PlainFormat<float>::encode({{value}}); }

// Narrow floats are taken out of 32-bit lanes by shifts, so that no element crosses a lane: vector k of a unit has the
// elements k, k + slices, k + 2 slices ...
template <size_t kSlices>
struct SlicedFormat {
  using Raw = BitsTag;
  using Lanes = FloatTag;
  using Unit = Pack<Floats, kSlices>;
  static constexpr size_t kElementBytes = 4 / kSlices;
  static constexpr bool kNarrow = true;

  static HWY_INLINE Unit load_wide(const float* from) {
    Unit unit;
    load_interleaved(from, unit);
    return unit;
  }

  static HWY_INLINE void store_wide(const Unit& unit, float* to) {
    Unit result;
    for (size_t k = 0; k < kSlices; ++k) result.v[k] = canonical(unit.v[k]);
    store_interleaved(result, to);
  }
};

struct Bfloat16Format : SlicedFormat<2> {
  static HWY_INLINE Unit decode(Bits raw) {
    const FloatTag floats;
    const Bits upper = hn::Set(BitsTag(), 0xffff0000u);
    return {{hn::BitCast(floats, hn::ShiftLeft<16>(raw)), hn::BitCast(floats, hn::And(raw, upper))}};
  }

  static HWY_INLINE Bits encode(const Unit& unit) {
    const Bits upper = hn::Set(BitsTag(), 0xffff0000u);
    return hn::Or(hn::ShiftRight<16>(rounded(unit.v[0])), hn::And(rounded(unit.v[1]), upper));
  }

 private:
  // The upper half is the result.
  static HWY_INLINE Bits rounded(Floats value) {
    const BitsTag d;
    const Bits bits = hn::BitCast(d, value);
    const Bits odd = hn::And(hn::ShiftRight<16>(bits), hn::Set(d, 1));
    const Bits sum = hn::Add(hn::Add(bits, hn::Set(d, 0x7fff)), odd);
    const Bits nan = hn::Set(d, kBfloat16Nan << 16);
    return hn::IfThenElse(hn::RebindMask(d, hn::IsNaN(value)), nan, sum);
  }
};

// The same arithmetic as narrow_to_float32 and float32_to_narrow of float_formats.h.
template <const FloatFormat& kFormat>
struct SmallFloatFormat : SlicedFormat<kFormat.slices()> {
  using Unit = typename SlicedFormat<kFormat.slices()>::Unit;

  static HWY_INLINE Unit decode(Bits raw) {
    Unit unit;
    unit.v[0] = to_float(raw);
    unit.v[1] = to_float(hn::ShiftRight<kFormat.bits>(raw));
    if constexpr (kFormat.slices() == 4) {
      unit.v[2] = to_float(hn::ShiftRight<16>(raw));
      unit.v[3] = to_float(hn::ShiftRight<24>(raw));
    }
    return unit;
  }

  static HWY_INLINE Bits encode(const Unit& unit) {
    Bits raw = hn::Or(to_bits(unit.v[0]), hn::ShiftLeft<kFormat.bits>(to_bits(unit.v[1])));
    if constexpr (kFormat.slices() == 4) {
      const Bits upper = hn::Or(to_bits(unit.v[2]), hn::ShiftLeft<8>(to_bits(unit.v[3])));
      raw = hn::Or(raw, hn::ShiftLeft<16>(upper));
    }
    return raw;
  }

 private:
  static HWY_INLINE hn::Mask<BitsTag> less(Bits a, Bits b) {  // both below 2^31
    const hn::RebindToSigned<BitsTag> d;
    return hn::RebindMask(BitsTag(), hn::Lt(hn::BitCast(d, a), hn::BitCast(d, b)));
  }

  static HWY_INLINE Floats to_float(Bits value) {
    const BitsTag d;
    const FloatTag floats;
    const Bits magnitude =
        hn::ShiftLeft<kFormat.mantissa_shift()>(hn::And(value, hn::Set(d, kFormat.magnitude_mask())));
    Bits bits = hn::Add(magnitude, hn::Set(d, kFormat.rebias()));

    const Bits special_from = hn::Set(d, kFormat.special_from());
    const Bits nan = hn::Set(d, kFloat32Nan);
    if constexpr (kFormat.has_infinity) {
      const Bits special = hn::IfThenElse(less(special_from, magnitude), nan, hn::Set(d, kFloat32Infinity));
      bits = hn::IfThenElse(less(magnitude, special_from), bits, special);
    } else {
      bits = hn::IfThenElse(less(magnitude, special_from), bits, nan);
    }

    const Bits min_normal = hn::Set(d, kFormat.min_normal());
    const Floats subnormal =
        hn::Sub(hn::BitCast(floats, hn::Add(magnitude, min_normal)), hn::BitCast(floats, min_normal));
    bits = hn::IfThenElse(less(magnitude, hn::Set(d, 1u << 23)), hn::BitCast(d, subnormal), bits);

    const Bits sign = hn::And(hn::ShiftLeft<32 - kFormat.bits>(value), hn::Set(d, 0x80000000u));
    return hn::BitCast(floats, hn::Or(bits, sign));
  }

  static HWY_INLINE Bits to_bits(Floats value) {
    const BitsTag d;
    const FloatTag floats;
    const Bits bits = hn::BitCast(d, value);
    Bits magnitude = hn::And(bits, hn::Set(d, 0x7fffffffu));
    if constexpr (kFormat.saturates) {
      const Bits greatest = hn::Set(d, kFormat.max_finite_float32());
      magnitude = hn::IfThenElse(less(greatest, magnitude), greatest, magnitude);
    }

    const Bits odd = hn::And(hn::ShiftRight<kFormat.mantissa_shift()>(magnitude), hn::Set(d, 1));
    constexpr uint32_t kHalf = (1u << (kFormat.mantissa_shift() - 1)) - 1;
    const Bits sum = hn::Add(hn::Add(magnitude, hn::Set(d, kHalf - kFormat.rebias())), odd);
    Bits normal = hn::ShiftRight<kFormat.mantissa_shift()>(sum);
    if constexpr (!kFormat.saturates) {
      const Bits infinity = hn::Set(d, kFormat.infinity());
      normal = hn::IfThenElse(less(infinity, normal), infinity, normal);
    }

    const Bits magic = hn::Set(d, kFormat.subnormal_magic());
    const Floats shifted = hn::Add(hn::BitCast(floats, magnitude), hn::BitCast(floats, magic));
    const Bits subnormal = hn::Sub(hn::BitCast(d, shifted), magic);
    const Bits result = hn::IfThenElse(less(magnitude, hn::Set(d, kFormat.min_normal())), subnormal, normal);

    const Bits sign = hn::And(hn::ShiftRight<32 - kFormat.bits>(bits), hn::Set(d, 1u << (kFormat.bits - 1)));
    const hn::Mask<BitsTag> is_nan = hn::RebindMask(d, hn::IsNaN(value));
    return hn::IfThenElse(is_nan, hn::Set(d, kFormat.nan), hn::Or(result, sign));
  }
};

#if HWY_TARGET <= HWY_AVX2 || HWY_TARGET == HWY_NEON
// With the processor's conversions, which round to nearest even and keep subnormals. Vector 0 has the first half of the
// elements, vector 1 the second.
struct Float16Format {
  using Raw = hn::ScalableTag<uint16_t>;
  using Lanes = FloatTag;
  using Unit = Pack<Floats, 2>;
  static constexpr size_t kElementBytes = 2;
  static constexpr bool kNarrow = true;

  static HWY_INLINE Unit decode(hn::Vec<Raw> raw) {
    const FloatTag floats;
    const hn::Half<Halves> half;
    const auto lower = hn::LowerHalf(hn::Half<Raw>(), raw);
    const auto upper = hn::UpperHalf(hn::Half<Raw>(), raw);
    return {{hn::PromoteTo(floats, hn::BitCast(half, lower)), hn::PromoteTo(floats, hn::BitCast(half, upper))}};
  }

  static HWY_INLINE hn::Vec<Raw> encode(const Unit& unit) {
    const hn::Half<Halves> half;
    const hn::Half<Raw> half_raw;
    const auto lower = hn::DemoteTo(half, canonical(unit.v[0]));
    const auto upper = hn::DemoteTo(half, canonical(unit.v[1]));
    return hn::Combine(Raw(), hn::BitCast(half_raw, upper), hn::BitCast(half_raw, lower));
  }

  static HWY_INLINE Unit load_wide(const float* from) {
    const FloatTag floats;
    return {{hn::LoadU(floats, from), hn::LoadU(floats, from + hn::Lanes(floats))}};
  }

  static HWY_INLINE void store_wide(const Unit& unit, float* to) {
    const FloatTag floats;
    hn::StoreU(canonical(unit.v[0]), floats, to);
    hn::StoreU(canonical(unit.v[1]), floats, to + hn::Lanes(floats));
  }

 private:
  using Halves = hn::ScalableTag<hwy::float16_t>;
};
#else
using Float16Format = SmallFloatFormat<kFloat16>;
#endif

// 8-bit integers in 32-bit lanes, for what has no 8-bit instruction: products and quotients.
struct SlicedIntegerFormat {
  using Raw = BitsTag;
  using Lanes = BitsTag;
  using Unit = Pack<Bits, 4>;
  static constexpr size_t kElementBytes = 1;
  static constexpr bool kNarrow = false;

  // Of a lane only the lower 8 bits count: the rest is left over from other elements and from carries.
  static HWY_INLINE Unit decode(Bits raw) {
    return {{raw, hn::ShiftRight<8>(raw), hn::ShiftRight<16>(raw), hn::ShiftRight<24>(raw)}};
  }

  static HWY_INLINE Bits encode(const Unit& unit) {
    const Bits byte = hn::Set(BitsTag(), 0xff);
    const Bits lower = hn::Or(hn::And(unit.v[0], byte), hn::ShiftLeft<8>(hn::And(unit.v[1], byte)));
    const Bits upper = hn::Or(hn::And(unit.v[2], byte), hn::ShiftLeft<8>(hn::And(unit.v[3], byte)));
    return hn::Or(lower, hn::ShiftLeft<16>(upper));
  }
};

}  // namespace HWY_NAMESPACE
}  // namespace ronde
HWY_AFTER_NAMESPACE();

#endif  // include guard, toggled
