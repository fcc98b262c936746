#include "common/buffer.h"

#include <ronde/ronde.h>

#include <algorithm>
#include <cstdlib>
#include <new>

namespace perf {
namespace {

constexpr std::size_t kPage = 4096;
constexpr std::byte kGuard{0xc5};

}  // namespace

void Buffer::Free::operator()(std::byte* memory) const {
  if (from_library) {
    rondeMemFree(memory);
  } else {
    std::free(memory);
  }
}

Buffer::Buffer(std::size_t bytes, std::size_t unalign, bool from_library)
    : memory_(nullptr, Free{from_library}), bytes_(bytes) {
  const std::size_t pages = (bytes + unalign + kGuardBytes + kPage - 1) / kPage + 1;
  void* memory = nullptr;
  if (!from_library) {
    memory = std::aligned_alloc(kPage, pages * kPage);
  } else if (rondeMemAlloc(&memory, pages * kPage) != rondeSuccess) {
    memory = nullptr;
  }
  if (memory == nullptr) throw std::bad_alloc();
  memory_.reset(static_cast<std::byte*>(memory));
  data_ = memory_.get() + kPage + unalign;
}

void Buffer::arm(std::size_t offset, std::size_t bytes) const {
  std::fill_n(data_ + offset - kGuardBytes, kGuardBytes, kGuard);
  std::fill_n(data_ + offset + bytes, kGuardBytes, kGuard);
}

std::size_t Buffer::broken(std::size_t offset, std::size_t bytes) const {
  const auto changed = [](const std::byte* from) {
    return kGuardBytes - static_cast<std::size_t>(std::count(from, from + kGuardBytes, kGuard));
  };
  return changed(data_ + offset - kGuardBytes) + changed(data_ + offset + bytes);
}

}  // namespace perf
