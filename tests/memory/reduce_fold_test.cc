// Reproducibility: sources in one order give the same bits in one call and through partial results.
#include <catch2/catch.hpp>
#include <cstring>
#include <vector>

#include "memory/reduce.h"
#include "memory/reduce_world.h"

namespace ronde::test {
namespace {

constexpr size_t kSources = 7;
constexpr size_t kCount = 611;

using Bytes = std::vector<uint8_t>;

// Elements of kSources ranks; what is rare in random bits comes in each place: infinities and NaNs among usual values.
std::vector<Bytes> inputs_of(DataType type) {
  std::vector<Bytes> inputs(kSources);
  const std::vector<uint64_t> specials = special_elements(type);
  const size_t bytes = element_bytes(type);
  for (size_t s = 0; s < kSources; ++s) {
    inputs[s].resize(kCount * bytes);
    ElementSource(type, 90 + s).fill(inputs[s].data(), kCount);
    if (!is_float(type)) continue;
    // The first part: magnitudes that are near each other, so that sums do round; one special element at most.
    for (size_t i = 0; i < kCount / 2; ++i) {
      const double value = (1.0 + static_cast<double>((i * 37 + s * 101) % 97) / 97) * ((i + s) % 3 == 0 ? -1 : 1);
      uint64_t element = float_bits(type, value);
      if (i % kSources == s && i % 4 == 0) element = specials[i / 4 % specials.size()];
      std::memcpy(&inputs[s][i * bytes], &element, bytes);
    }
  }
  return inputs;
}

Bytes in_one_call(const Reduction& reduction, const std::vector<Bytes>& inputs, Content content) {
  std::vector<ReduceSource> sources;
  for (const Bytes& input : inputs) sources.push_back({input.data(), Content::input});
  Bytes result(kCount * element_bytes(reduction.type_of(content)));
  const ReduceTarget targets[] = {{result.data(), content, false}};
  reduce(reduction, sources, targets, kCount);
  return result;
}

// parts: how many inputs each call takes; their sum is kSources.
Bytes folded(const Reduction& reduction, const std::vector<Bytes>& inputs, Content content,
             const std::vector<size_t>& parts) {
  Bytes partial(kCount * element_bytes(reduction.partial));
  Bytes result(kCount * element_bytes(reduction.type_of(content)));
  size_t taken = 0;
  for (size_t part : parts) {
    std::vector<ReduceSource> sources;
    if (taken > 0) sources.push_back({partial.data(), Content::partial});
    for (size_t i = 0; i < part; ++i) sources.push_back({inputs[taken++].data(), Content::input});
    const bool last = taken == kSources;
    const ReduceTarget targets[] = {{last ? result.data() : partial.data(), last ? content : Content::partial, false}};
    reduce(reduction, sources, targets, kCount);
  }
  return result;
}

bool folds_alike(const Reduction& reduction, const std::vector<Bytes>& inputs) {
  for (Content content : {Content::final, Content::ready, Content::partial}) {
    const Bytes whole = in_one_call(reduction, inputs, content);
    for (const std::vector<size_t>& parts :
         {std::vector<size_t>{2, 1, 1, 1, 1, 1}, {1, 1, 1, 1, 1, 1, 1}, {3, 2, 2}, {1, 6}, {6, 1}}) {
      if (folded(reduction, inputs, content, parts) != whole) return false;
    }
  }
  return true;
}

TEST_CASE("reduce: one call over all sources and a fold through exact partials give the same bits") {
  for_each_instruction_set([](const std::string& name) {
    for (DataType type : all_types()) {
      const std::vector<Bytes> inputs = inputs_of(type);
      for (int nranks : {int{kSources}, 3}) {
        for (const Reduction& reduction : all_reductions(type, nranks, true)) {
          CAPTURE(name, type_name(type), op_name(reduction.op), reduction.multiplies, reduction.factor);
          REQUIRE(reduction.partials_are_exact());
          CHECK(folds_alike(reduction, inputs));
        }
      }
    }
  });
}

TEST_CASE("reduce: a fold that rounds each partial result is found out") {
  for (DataType type : {rondeFloat16, rondeBfloat16, rondeFloat8e4m3, rondeFloat8e5m2}) {
    for (RedOp op : {rondeSum, rondeProd, rondeAvg}) {
      const Reduction reduction = Reduction::of(type, op, kSources, false);
      CAPTURE(type_name(type), op_name(op));
      CHECK_FALSE(reduction.partials_are_exact());
      CHECK_FALSE(folds_alike(reduction, inputs_of(type)));
    }
  }
}

TEST_CASE("reduce: another order of the sources is found out") {
  for (DataType type : {rondeFloat32, rondeFloat64, rondeBfloat16}) {
    const Reduction reduction = Reduction::of(type, rondeSum, kSources, true);
    std::vector<Bytes> inputs = inputs_of(type);
    const Bytes whole = in_one_call(reduction, inputs, Content::partial);
    std::swap(inputs.front(), inputs.back());
    CAPTURE(type_name(type));
    CHECK(in_one_call(reduction, inputs, Content::partial) != whole);
  }
}

}  // namespace
}  // namespace ronde::test
