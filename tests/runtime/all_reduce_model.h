// All-reduces with inputs whose results are exact in every type and by every algorithm, and what these results are.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "runtime/communicator.h"
#include "support/world.h"

namespace ronde::testing {

struct Call {
  DataType type = rondeFloat32;
  RedOp op = rondeSum;
  size_t count = 0;
  bool in_place = false;
  size_t misaligned = 0;  // bytes by which buffers miss a cache line; send and receive differ
};

// The buffers of one rank for one call, with guards around what is written.
class CallBuffers {
 public:
  CallBuffers(const Call& call, int rank, int nranks);

  [[nodiscard]] OperationArgs args();
  // Ok if the result is the exact one, the input is untouched, and nothing beside the output was written.
  [[nodiscard]] Status check() const;
  [[nodiscard]] uint64_t hash() const;  // of the result's bits

 private:
  [[nodiscard]] const std::byte* result() const { return output_.data() + output_offset_; }

  Call call_;
  int rank_;
  int nranks_;
  std::vector<std::byte> input_;  // empty when in place
  std::vector<std::byte> output_;
  size_t input_offset_;
  size_t output_offset_;
};

// Runs the calls one after the other on all ranks; ok if all results are exact and have the same bits on all ranks.
Status run_calls(World& world, const std::vector<Call>& calls);

// Counts, types, reductions, places: each count with a few of the others, by turns that start at `turn`.
std::vector<Call> mixed_calls(int nranks, size_t turn, size_t largest_count);

}  // namespace ronde::testing
