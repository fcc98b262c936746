// The order in which a position goes through (step, slice) pairs of a link schedule: slice-major in groups of `depth`.
//
// A group of `depth` slices goes through all steps before the next group starts; within a step its slices follow each
// other, so that one is on the way while another one is being combined. (Chunk-major order deadlocks as soon as a chunk
// has as many slices as a link has slots.) depth must be at least 1; for the ring at most slots - 1, for the star at
// most twice the slots, else every position waits for ever (proved by the verifier).
#pragma once

#include <algorithm>
#include <cstddef>

namespace ronde::schedule {

class SliceOrder {
 public:
  SliceOrder(int steps, size_t slices, size_t depth) : steps_(steps), slices_(slices), depth_(depth) { start_group(0); }

  [[nodiscard]] bool done() const { return group_begin_ >= slices_; }
  [[nodiscard]] int step() const { return step_; }
  [[nodiscard]] size_t slice() const { return slice_; }

  // How many (step, slice) pairs there are, and how many come before this one.
  [[nodiscard]] size_t pairs() const { return slices_ * static_cast<size_t>(steps_); }
  [[nodiscard]] size_t pairs_done() const {
    return group_begin_ * static_cast<size_t>(steps_) + static_cast<size_t>(step_) * (group_end_ - group_begin_) +
           slice_ - group_begin_;
  }

  void next() {
    if (++slice_ < group_end_) return;
    slice_ = group_begin_;
    if (++step_ < steps_) return;
    start_group(group_end_);
  }

 private:
  void start_group(size_t begin) {
    group_begin_ = slice_ = begin;
    group_end_ = std::min(slices_, begin + depth_);
    step_ = 0;
  }

  int steps_;
  size_t slices_;
  size_t depth_;
  int step_ = 0;
  size_t slice_ = 0;
  size_t group_begin_ = 0;
  size_t group_end_ = 0;
};

}  // namespace ronde::schedule
