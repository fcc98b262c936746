// Between reduce() and its kernels: one call in the form that the kernels take, and the kernels by element type.
#pragma once

#include <cstddef>
#include <span>

#include "memory/reduce.h"

// Scalable vectors cannot be held in structs and arrays, as the kernels do; what has SSSE3 only is too old to matter.
#ifndef HWY_DISABLED_TARGETS
#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128)
#endif

// Every AArch64 has NEON, so nothing is chosen at run time, and Highway's library is not needed.
#if defined(__aarch64__)
#define HWY_COMPILE_ONLY_STATIC
#endif

namespace ronde {

struct ReducePass {
  const ReduceSource* sources;
  size_t source_number;  // at least 1
  const ReduceTarget* targets;
  size_t target_number;  // 1 or 2
  size_t count;          // at least 1; reduce_bits: bytes
  const Reduction* reduction;
};

// The bitwise reductions of any integer type.
void reduce_bits(const ReducePass& pass);
void reduce_int8(const ReducePass& pass);
void reduce_uint8(const ReducePass& pass);
void reduce_int32(const ReducePass& pass);
void reduce_uint32(const ReducePass& pass);
void reduce_int64(const ReducePass& pass);
void reduce_uint64(const ReducePass& pass);
void reduce_float16(const ReducePass& pass);
void reduce_bfloat16(const ReducePass& pass);
void reduce_float8e4m3(const ReducePass& pass);
void reduce_float8e5m2(const ReducePass& pass);
void reduce_float32(const ReducePass& pass);
void reduce_float64(const ReducePass& pass);

// Not a kernel: blocks of memory through the user's function. sources: at least 2.
void reduce_user_defined(const Reduction& reduction, std::span<const ReduceSource> sources,
                         std::span<const ReduceTarget> targets, size_t count);

}  // namespace ronde
