// What combines two vectors. Compiled once for each instruction set, hence no #pragma once.
//
// An operation has: combine(a, b) on one vector each; kScales with scale(v), applied to inputs but not to partials; and
// kDivides with divide(v), applied to final results only.
#if defined(RONDE_MEMORY_REDUCE_OPS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef RONDE_MEMORY_REDUCE_OPS_INL_H_
#undef RONDE_MEMORY_REDUCE_OPS_INL_H_
#else
#define RONDE_MEMORY_REDUCE_OPS_INL_H_
#endif

#include <hwy/highway.h>

#include <bit>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "memory/integer_divider.h"

HWY_BEFORE_NAMESPACE();
namespace ronde {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

struct PlainOp {
  static constexpr bool kScales = false;
  static constexpr bool kDivides = false;
};

struct Sum : PlainOp {
  template <class V>
  HWY_INLINE V combine(V a, V b) const {
    return hn::Add(a, b);
  }
};

struct Product : PlainOp {
  template <class V>
  HWY_INLINE V combine(V a, V b) const {
    return hn::Mul(a, b);
  }
};

struct BitAnd : PlainOp {
  template <class V>
  HWY_INLINE V combine(V a, V b) const {
    return hn::And(a, b);
  }
};

struct BitOr : PlainOp {
  template <class V>
  HWY_INLINE V combine(V a, V b) const {
    return hn::Or(a, b);
  }
};

struct BitXor : PlainOp {
  template <class V>
  HWY_INLINE V combine(V a, V b) const {
    return hn::Xor(a, b);
  }
};

// Highway's Min and Max differ between processors where an operand is NaN or both are zeros: here NaN wins, and -0 is
// less than +0, so that the result does not depend on the order of the operands.
template <bool kMinimum>
struct Extreme : PlainOp {
  template <class V>
  HWY_INLINE V combine(V a, V b) const {
    if constexpr (!std::is_floating_point_v<hn::TFromV<V>>) {
      if constexpr (kMinimum) return hn::Min(a, b);
      return hn::Max(a, b);
    } else {
      const V equal = kMinimum ? hn::Or(a, b) : hn::And(a, b);
      const V chosen = hn::IfThenElse(kMinimum ? hn::Lt(a, b) : hn::Gt(a, b), a, b);
      return hn::IfThenElse(hn::IsNaN(a), a, hn::IfThenElse(hn::Eq(a, b), equal, chosen));
    }
  }
};

// PreMulSum and the average of floats. Integers: unsigned ones, so that overflow is defined.
template <class D>
class ScaledSum : public Sum {
 public:
  static constexpr bool kScales = true;
  // factor: as in Reduction, in the lower end.
  explicit HWY_INLINE ScaledSum(uint64_t factor)
      : factor_(hn::Set(D(), std::bit_cast<hn::TFromD<D>>(static_cast<hwy::MakeUnsigned<hn::TFromD<D>>>(factor)))) {}
  HWY_INLINE hn::Vec<D> scale(hn::Vec<D> v) const { return hn::Mul(v, factor_); }

 private:
  hn::Vec<D> factor_;
};

// 32- and 64-bit integers.
template <class D>
class IntegerAverage : public Sum {
 public:
  static constexpr bool kDivides = true;
  explicit IntegerAverage(int nranks) : divider_(static_cast<uint32_t>(nranks)) {}

  HWY_INLINE hn::Vec<D> divide(hn::Vec<D> v) const {
    const D d;
    if constexpr (std::is_signed_v<hn::TFromD<D>>) {
      const hn::Vec<D> quotient = hn::BitCast(d, divide_lanes(hn::BitCast(UnsignedTag(), hn::Abs(v))));
      return hn::IfThenElse(hn::Lt(v, hn::Zero(d)), hn::Neg(quotient), quotient);
    } else {
      return divide_lanes(v);
    }
  }

 private:
  using UnsignedTag = hn::RebindToUnsigned<D>;

  HWY_INLINE hn::Vec<UnsignedTag> divide_lanes(hn::Vec<UnsignedTag> v) const {
    using T = hn::TFromD<UnsignedTag>;
    HWY_ALIGN T lanes[hn::MaxLanes(UnsignedTag())];
    hn::Store(v, UnsignedTag(), lanes);
    for (T& lane : lanes) lane = static_cast<T>(divider_.divide(lane));
    return hn::Load(UnsignedTag(), lanes);
  }

  IntegerDivider divider_;
};

// 8-bit integers in the lower ends of 32-bit lanes (SlicedIntegerFormat). Division is multiplication by 2^16 / nranks,
// rounded up: exact for magnitudes up to 255 and up to 256 ranks; with more, every quotient is 0.
template <bool kSigned>
class SlicedAverage : public Sum {
 public:
  static constexpr bool kDivides = true;
  explicit SlicedAverage(int nranks)
      : reciprocal_(nranks > 256 ? 0 : (65536 + static_cast<uint32_t>(nranks) - 1) / static_cast<uint32_t>(nranks)) {}

  template <class V>
  HWY_INLINE V divide(V v) const {
    const hn::DFromV<V> d;
    const V reciprocal = hn::Set(d, reciprocal_);
    if constexpr (!kSigned) {
      return hn::ShiftRight<16>(hn::Mul(hn::And(v, hn::Set(d, 0xff)), reciprocal));
    } else {
      const hn::RebindToSigned<decltype(d)> signed_d;
      const auto value = hn::ShiftRight<24>(hn::BitCast(signed_d, hn::ShiftLeft<24>(v)));
      const V magnitude = hn::BitCast(d, hn::Abs(value));
      const auto quotient = hn::BitCast(signed_d, hn::ShiftRight<16>(hn::Mul(magnitude, reciprocal)));
      const auto negative = hn::Lt(value, hn::Zero(signed_d));
      return hn::BitCast(d, hn::IfThenElse(negative, hn::Neg(quotient), quotient));
    }
  }

 private:
  uint32_t reciprocal_;
};

}  // namespace HWY_NAMESPACE
}  // namespace ronde
HWY_AFTER_NAMESPACE();

#endif  // include guard, toggled
