// copy_bytes: memcpy, or a loop of non-temporal stores.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "memory/copy.cc"
#include "memory/reduce_pass.h"
// After HWY_DISABLED_TARGETS, which reduce_pass.h defines.
#include <hwy/cache_control.h>
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <cstdint>
#include <cstring>

#include "memory/reduce.h"

HWY_BEFORE_NAMESPACE();
namespace ronde {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// 8-byte lanes: a lane is also the vector where there are none.
void CopyStreaming(uint8_t* to, const uint8_t* from, size_t bytes) {
  const hn::ScalableTag<uint64_t> d;
  const size_t vector = hn::Lanes(d) * sizeof(uint64_t);
  const size_t block = 4 * vector;
  const size_t misaligned = reinterpret_cast<uintptr_t>(to) % vector;
  const size_t before = misaligned == 0 ? 0 : vector - misaligned;
  if (bytes < before + block) {
    std::memcpy(to, from, bytes);
    return;
  }
  std::memcpy(to, from, before);
  size_t done = before;
  for (; done + block <= bytes; done += block) {
    const uint64_t* source = reinterpret_cast<const uint64_t*>(from + done);
    uint64_t* target = reinterpret_cast<uint64_t*>(to + done);
    const size_t n = hn::Lanes(d);
    const auto a = hn::LoadU(d, source);
    const auto b = hn::LoadU(d, source + n);
    const auto c = hn::LoadU(d, source + 2 * n);
    const auto e = hn::LoadU(d, source + 3 * n);
    hn::Stream(a, d, target);
    hn::Stream(b, d, target + n);
    hn::Stream(c, d, target + 2 * n);
    hn::Stream(e, d, target + 3 * n);
  }
  std::memcpy(to + done, from + done, bytes - done);
  hwy::FlushStream();
}

}  // namespace HWY_NAMESPACE
}  // namespace ronde
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace ronde {

HWY_EXPORT(CopyStreaming);

void copy_bytes(void* target, const void* source, size_t bytes, bool streaming) {
  if (bytes == 0) return;
  if (!streaming) {
    std::memcpy(target, source, bytes);
    return;
  }
  HWY_DYNAMIC_DISPATCH(CopyStreaming)(static_cast<uint8_t*>(target), static_cast<const uint8_t*>(source), bytes);
}

}  // namespace ronde
#endif  // HWY_ONCE
