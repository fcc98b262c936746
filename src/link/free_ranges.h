// Which parts of a range of bytes are free: pure arithmetic, no memory of its own to give out.
#pragma once

#include <cstddef>
#include <map>
#include <optional>

namespace ronde {

// Not safe for several threads at a time.
class FreeRanges {
 public:
  // Free are the bytes from begin to end.
  FreeRanges(size_t begin, size_t end) { free_[begin] = end - begin; }

  // Takes the first `bytes` that are free and begin at a multiple of `alignment` (a power of two); where they begin, or
  // nothing. bytes is not 0.
  std::optional<size_t> take(size_t bytes, size_t alignment);
  // Gives back what take() has returned, with the same size.
  void give_back(size_t offset, size_t bytes);

  // Parts that nothing taken lies between.
  [[nodiscard]] size_t parts() const { return free_.size(); }

 private:
  std::map<size_t, size_t> free_;  // size by offset; no two of them touch
};

}  // namespace ronde
