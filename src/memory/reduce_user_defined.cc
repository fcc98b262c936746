// reduce() by a function of the user.
#include <algorithm>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "memory/reduce.h"
#include "memory/reduce_pass.h"

namespace ronde {
namespace {

constexpr size_t kBlockBytes = 8192;  // two blocks fit a processor's first cache, and any thread's stack

// The block itself if it has the alignment of its elements, else a copy in scratch.
const std::byte* aligned(const std::byte* block, size_t bytes, size_t element_bytes, std::byte* scratch) {
  if (reinterpret_cast<uintptr_t>(block) % element_bytes == 0) return block;
  std::memcpy(scratch, block, bytes);
  return scratch;
}

}  // namespace

// Results go to scratch first: a target may be the memory of a source that is still to be read.
void reduce_user_defined(const Reduction& reduction, std::span<const ReduceSource> sources,
                         std::span<const ReduceTarget> targets, size_t count) {
  assert(sources.size() >= 2);
  alignas(64) std::byte result[kBlockBytes];
  alignas(64) std::byte copy[kBlockBytes];
  const size_t element = element_bytes(reduction.type);
  const size_t bytes = count * element;
  for (size_t done = 0; done < bytes; done += kBlockBytes) {
    const size_t size = std::min(kBlockBytes, bytes - done);
    const auto block_of = [&](const ReduceSource& source, std::byte* scratch) {
      return aligned(static_cast<const std::byte*>(source.data) + done, size, element, scratch);
    };
    const std::byte* left = block_of(sources[0], result);
    for (const ReduceSource& source : sources.subspan(1)) {
      reduction.function(left, block_of(source, copy), result, size / element, reduction.type, reduction.user);
      left = result;
    }
    for (const ReduceTarget& target : targets) {
      copy_bytes(static_cast<std::byte*>(target.data) + done, result, size, target.streaming);
    }
  }
}

}  // namespace ronde
