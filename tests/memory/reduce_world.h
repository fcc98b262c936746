// What the tests of reduce() share: values worth trying, guarded memory, all instruction sets of this machine.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "memory/reduce.h"
#include "memory/reduce_model.h"

namespace ronde::test {

std::vector<DataType> all_types();
// The built-in ones that fit type.
std::vector<RedOp> all_ops(DataType type);

// Built-in ones, PreMulSum by a usual and by a special scalar, and a user-defined one.
std::vector<Reduction> all_reductions(DataType type, int nranks, bool float32_partials);

// A rondeReduceFunction_t on the bits of elements of any type, neither commutative nor associative, so that each slip
// in order or grouping shows. user: a MixCalls, or null.
void mix_elements(const void* left, const void* right, void* result, size_t count, rondeDataType_t type, void* user);

struct MixCalls {
  size_t calls = 0;
  size_t wrong = 0;     // without elements, or with pointers that are misaligned or overlap in part
  size_t elements = 0;  // of all calls
};

// Runs body once for each instruction set that reduce() was compiled for and this processor has.
void for_each_instruction_set(const std::function<void(const std::string& name)>& body);

// The type's edges: zeros, extremes, subnormals, infinities, NaNs (quiet, signalling, both signs), ties.
std::vector<uint64_t> special_elements(DataType type);

// Random bits, one in eight a special element.
class ElementSource {
 public:
  ElementSource(DataType type, uint64_t seed);
  void fill(uint8_t* data, size_t count);

 private:
  DataType type_;
  std::mt19937_64 random_;
  std::vector<uint64_t> specials_;
};

// Memory of any misalignment with guards on both sides.
class GuardedBytes {
 public:
  GuardedBytes(size_t bytes, size_t misalignment);
  uint8_t* data() { return memory_.data() + start_; }
  bool guards_are_whole() const;

 private:
  size_t bytes_;
  size_t start_;
  std::vector<uint8_t> memory_;
};

// Reduces with reduce() and with the model, from equal sources to two sets of targets.
struct Trial {
  Reduction reduction;
  size_t count = 0;
  std::vector<Content> sources;
  std::vector<Content> targets;  // one or two
  bool streaming = false;
  bool in_place = false;                   // the first target is the first source; both of the same element size
  std::vector<size_t> misalignment = {0};  // of sources, then targets, round and round
  uint64_t seed = 1;
  // What the model does otherwise, to prove that a comparison can fail.
  Rounding model_rounding = Rounding::nearest_even;
  std::optional<Reduction> model_reduction;

  // The number of elements that differ, plus 1000000 if a guard was touched.
  size_t mismatches() const;
  std::string describe() const;
};

}  // namespace ronde::test
