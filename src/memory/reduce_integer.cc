// reduce() for integers: everything modulo 2^bits.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "memory/reduce_integer.cc"
#include "memory/reduce_pass.h"
// After HWY_DISABLED_TARGETS, which reduce_pass.h defines.
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "memory/reduce_kernel-inl.h"

HWY_BEFORE_NAMESPACE();
namespace ronde {
namespace HWY_NAMESPACE {

// Sums and products are the same for both signs: unsigned, so that overflow is defined.
template <class T>
HWY_INLINE void run_integer(const ReducePass& pass) {
  using Format = PlainFormat<T>;
  using UnsignedFormat = PlainFormat<std::make_unsigned_t<T>>;
  if (pass.reduction->multiplies) {
    if constexpr (sizeof(T) == 1)
      return run<SlicedIntegerFormat>(pass, ScaledSum<SlicedIntegerFormat::Lanes>(pass.reduction->factor));
    else
      return run<UnsignedFormat>(pass, ScaledSum<typename UnsignedFormat::Lanes>(pass.reduction->factor));
  }
  switch (pass.reduction->op) {
    case rondeMax: return run<Format>(pass, Extreme<false>());
    case rondeMin: return run<Format>(pass, Extreme<true>());
    case rondeProd:
      if constexpr (sizeof(T) == 1)
        return run<SlicedIntegerFormat>(pass, Product());
      else
        return run<UnsignedFormat>(pass, Product());
    case rondeAvg:
      if (pass.reduction->nranks <= 1) break;
      if constexpr (sizeof(T) == 1)
        return run<SlicedIntegerFormat>(pass, SlicedAverage<std::is_signed_v<T>>(pass.reduction->nranks));
      else
        return run<Format>(pass, IntegerAverage<typename Format::Lanes>(pass.reduction->nranks));
    default: break;
  }
  run<UnsignedFormat>(pass, Sum());
}

// Bits do not care in what elements they lie: bytes serve all types, with one kernel an operation.
void ReduceBits(const ReducePass& pass) {
  using Format = PlainFormat<uint8_t>;
  switch (pass.reduction->op) {
    case rondeBitAnd: return run<Format>(pass, BitAnd());
    case rondeBitOr: return run<Format>(pass, BitOr());
    default: return run<Format>(pass, BitXor());
  }
}

void ReduceInt8(const ReducePass& pass) { run_integer<int8_t>(pass); }
void ReduceUint8(const ReducePass& pass) { run_integer<uint8_t>(pass); }
void ReduceInt32(const ReducePass& pass) { run_integer<int32_t>(pass); }
void ReduceUint32(const ReducePass& pass) { run_integer<uint32_t>(pass); }
void ReduceInt64(const ReducePass& pass) { run_integer<int64_t>(pass); }
void ReduceUint64(const ReducePass& pass) { run_integer<uint64_t>(pass); }

}  // namespace HWY_NAMESPACE
}  // namespace ronde
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace ronde {

HWY_EXPORT(ReduceBits);
HWY_EXPORT(ReduceInt8);
HWY_EXPORT(ReduceUint8);
HWY_EXPORT(ReduceInt32);
HWY_EXPORT(ReduceUint32);
HWY_EXPORT(ReduceInt64);
HWY_EXPORT(ReduceUint64);

void reduce_bits(const ReducePass& pass) { HWY_DYNAMIC_DISPATCH(ReduceBits)(pass); }
void reduce_int8(const ReducePass& pass) { HWY_DYNAMIC_DISPATCH(ReduceInt8)(pass); }
void reduce_uint8(const ReducePass& pass) { HWY_DYNAMIC_DISPATCH(ReduceUint8)(pass); }
void reduce_int32(const ReducePass& pass) { HWY_DYNAMIC_DISPATCH(ReduceInt32)(pass); }
void reduce_uint32(const ReducePass& pass) { HWY_DYNAMIC_DISPATCH(ReduceUint32)(pass); }
void reduce_int64(const ReducePass& pass) { HWY_DYNAMIC_DISPATCH(ReduceInt64)(pass); }
void reduce_uint64(const ReducePass& pass) { HWY_DYNAMIC_DISPATCH(ReduceUint64)(pass); }

}  // namespace ronde
#endif  // HWY_ONCE
