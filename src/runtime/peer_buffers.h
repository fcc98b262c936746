// A buffer of each rank of a communicator, as one of them sees it: where in this process those lie that it can read.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "base/status.h"

namespace ronde {

class Communicator;
class Process;

class PeerBuffers {
 public:
  // An operation of the communicator, with a place among the others; all ranks take part. No operation may be queued.
  // rondeInvalidArgument on all ranks: their sizes differ.
  static Result<std::unique_ptr<PeerBuffers>> make(Process& process, Communicator& communicator, void* begin,
                                                   size_t bytes);

  [[nodiscard]] size_t bytes() const { return bytes_; }
  [[nodiscard]] int nranks() const { return static_cast<int>(begin_.size()); }
  // Null: it cannot be read here.
  [[nodiscard]] const std::byte* of(int rank) const { return begin_[static_cast<size_t>(rank)]; }

 private:
  PeerBuffers(size_t bytes, int nranks) : bytes_(bytes), begin_(static_cast<size_t>(nranks)) {}

  size_t bytes_;
  std::shared_ptr<const void> held_;  // the own one, if it is library memory
  std::vector<const std::byte*> begin_;
};

}  // namespace ronde
