// reduce() for 16- and 8-bit floats: arithmetic in float32, one rounding.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "memory/reduce_narrow.cc"
#include "memory/reduce_pass.h"
// After HWY_DISABLED_TARGETS, which reduce_pass.h defines.
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "memory/reduce_kernel-inl.h"

HWY_BEFORE_NAMESPACE();
namespace ronde {
namespace HWY_NAMESPACE {

void ReduceFloat16(const ReducePass& pass) { run_float<Float16Format>(pass); }
void ReduceBfloat16(const ReducePass& pass) { run_float<Bfloat16Format>(pass); }
void ReduceFloat8e4m3(const ReducePass& pass) { run_float<SmallFloatFormat<kFloat8e4m3>>(pass); }
void ReduceFloat8e5m2(const ReducePass& pass) { run_float<SmallFloatFormat<kFloat8e5m2>>(pass); }

}  // namespace HWY_NAMESPACE
}  // namespace ronde
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace ronde {

HWY_EXPORT(ReduceFloat16);
HWY_EXPORT(ReduceBfloat16);
HWY_EXPORT(ReduceFloat8e4m3);
HWY_EXPORT(ReduceFloat8e5m2);

void reduce_float16(const ReducePass& pass) { HWY_DYNAMIC_DISPATCH(ReduceFloat16)(pass); }
void reduce_bfloat16(const ReducePass& pass) { HWY_DYNAMIC_DISPATCH(ReduceBfloat16)(pass); }
void reduce_float8e4m3(const ReducePass& pass) { HWY_DYNAMIC_DISPATCH(ReduceFloat8e4m3)(pass); }
void reduce_float8e5m2(const ReducePass& pass) { HWY_DYNAMIC_DISPATCH(ReduceFloat8e5m2)(pass); }

}  // namespace ronde
#endif  // HWY_ONCE
