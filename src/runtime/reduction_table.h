// The reductions that a program has made on a communicator, by their handles.
#pragma once

#include <map>
#include <memory>

#include "memory/created_reduction.h"

namespace ronde {

// Used by the thread that uses the communicator. Operations that were begun keep what they use.
class ReductionTable {
 public:
  // Handles begin where NCCL's do, and are not used again.
  RedOp add(const CreatedReduction& reduction) {
    const auto handle = static_cast<RedOp>(next_++);
    made_[handle] = std::make_shared<const CreatedReduction>(reduction);
    return handle;
  }
  // False: there is none.
  bool remove(RedOp handle) { return made_.erase(handle) > 0; }
  // Null: there is none.
  [[nodiscard]] std::shared_ptr<const CreatedReduction> find(RedOp handle) const {
    const auto found = made_.find(handle);
    return found == made_.end() ? nullptr : found->second;
  }

 private:
  std::map<RedOp, std::shared_ptr<const CreatedReduction>> made_;
  int next_ = rondeNumOps;
};

}  // namespace ronde
