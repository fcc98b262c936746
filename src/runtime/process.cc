#include "runtime/process.h"

#include <atomic>

namespace ronde {

std::shared_ptr<const void> SharedMemoryBudget::reserve(size_t bytes, int64_t limit) {
  size_t used = used_->load();
  do {
    if (used + bytes > static_cast<size_t>(limit)) return nullptr;
  } while (!used_->compare_exchange_weak(used, used + bytes));
  return {used_.get(), [counter = used_, bytes](const void*) { *counter -= bytes; }};
}

}  // namespace ronde
