// reduce() for float32 and float64.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "memory/reduce_float.cc"
#include "memory/reduce_pass.h"
// After HWY_DISABLED_TARGETS, which reduce_pass.h defines.
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "memory/reduce_kernel-inl.h"

HWY_BEFORE_NAMESPACE();
namespace ronde {
namespace HWY_NAMESPACE {

void ReduceFloat32(const ReducePass& pass) { run_float<PlainFormat<float>>(pass); }
void ReduceFloat64(const ReducePass& pass) { run_float<PlainFormat<double>>(pass); }

}  // namespace HWY_NAMESPACE
}  // namespace ronde
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace ronde {

HWY_EXPORT(ReduceFloat32);
HWY_EXPORT(ReduceFloat64);

void reduce_float32(const ReducePass& pass) { HWY_DYNAMIC_DISPATCH(ReduceFloat32)(pass); }
void reduce_float64(const ReducePass& pass) { HWY_DYNAMIC_DISPATCH(ReduceFloat64)(pass); }

}  // namespace ronde
#endif  // HWY_ONCE
