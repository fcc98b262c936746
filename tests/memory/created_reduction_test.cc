// Reductions that programs make: PreMulSum and functions of the user.
#include "memory/created_reduction.h"

#include <catch2/catch.hpp>
#include <cstring>
#include <vector>

#include "memory/float_formats.h"
#include "memory/reduce_world.h"

namespace ronde {
namespace {

using test::mix_elements;
using test::MixCalls;

template <class T>
std::vector<T> reduced(const Reduction& reduction, const std::vector<std::vector<T>>& ranks,
                       Content from = Content::input, Content to = Content::final) {
  std::vector<ReduceSource> sources;
  for (const std::vector<T>& rank : ranks) sources.push_back({rank.data(), from});
  std::vector<T> result(ranks[0].size());
  const ReduceTarget targets[] = {{result.data(), to, false}};
  reduce(reduction, sources, targets, result.size());
  return result;
}

TEST_CASE("PreMulSum multiplies inputs, integers modulo 2^bits") {
  const Reduction bytes = Reduction::pre_mul_sum(rondeInt8, 0xfd, false);  // -3
  CHECK(reduced<int8_t>(bytes, {{100, 5, -128}, {1, 2, 0}}) == std::vector<int8_t>{-47, -21, -128});
  const Reduction wide = Reduction::pre_mul_sum(rondeUint64, uint64_t{1} << 63, false);
  CHECK(reduced<uint64_t>(wide, {{3, 2}, {2, 2}}) == std::vector<uint64_t>{uint64_t{1} << 63, 0});
  const Reduction floats = Reduction::pre_mul_sum(rondeFloat32, std::bit_cast<uint32_t>(0.5f), false);
  CHECK(reduced<float>(floats, {{1, 3e38f}, {2, 3e38f}}) == std::vector<float>{1.5f, 3e38f});
}

TEST_CASE("PreMulSum: what was multiplied once is not multiplied again") {
  const float two = 2;
  const Reduction reduction = CreatedReduction::pre_mul_sum(rondeFloat32, &two).of(rondeFloat32, true);
  float result = 0;
  const float values[] = {1, 10, 100};
  const ReduceSource sources[] = {
      {&values[0], Content::input}, {&values[1], Content::ready}, {&values[2], Content::partial}};
  const ReduceTarget targets[] = {{&result, Content::final, false}};
  reduce(reduction, sources, targets, 1);
  CHECK(result == 112);
}

TEST_CASE("PreMulSum: products are rounded only where a ready input is made") {
  // In e4m3 1.875 * 1.125 = 2.109375 lies between 2 and 2.25; three of them are 6.328125, between 6 and 6.5.
  const uint8_t scalar = float32_to_float8e4m3(1.125f);
  const std::vector<uint8_t> input(40, float32_to_float8e4m3(1.875f));
  const Reduction reduction = Reduction::pre_mul_sum(rondeFloat8e4m3, scalar, false);
  CHECK(reduced<uint8_t>(reduction, {input, input, input}) == std::vector<uint8_t>(40, float32_to_float8e4m3(6.5f)));
  const std::vector<uint8_t> ready = reduced<uint8_t>(reduction, {input}, Content::input, Content::ready);
  CHECK(ready == std::vector<uint8_t>(40, float32_to_float8e4m3(2)));
  CHECK(reduced<uint8_t>(reduction, {ready, ready, ready}, Content::ready) ==
        std::vector<uint8_t>(40, float32_to_float8e4m3(6)));
}

TEST_CASE("an input of an average is made ready by its factor, or by nothing where the end divides") {
  CHECK(reduced<float>(Reduction::of(rondeFloat32, rondeAvg, 4, false), {{8, 2}}, Content::input, Content::ready) ==
        std::vector<float>{2, 0.5f});
  CHECK(reduced<int32_t>(Reduction::of(rondeInt32, rondeAvg, 4, false), {{8, 2}}, Content::input, Content::ready) ==
        std::vector<int32_t>{8, 2});
}

TEST_CASE("a function of the user gets each element once a pair, aligned, in order") {
  for (DataType type : test::all_types()) {
    for (size_t count : {1, 1000, 8192, 8193, 30'001}) {
      for (size_t offset : {0, 1, 2, 3, 4, 6, 8}) {
        MixCalls calls;
        test::Trial trial;
        trial.reduction = Reduction::user_defined(type, mix_elements, &calls, false);
        trial.model_reduction = Reduction::user_defined(type, mix_elements, nullptr, false);
        trial.count = count;
        trial.sources = {Content::input, Content::partial, Content::ready, Content::input};
        trial.targets = {Content::partial, Content::final};
        trial.misalignment = {offset, 0, 3 * offset};
        trial.in_place = offset % 2 == 0;
        trial.streaming = offset == 3;
        INFO(trial.describe());
        CHECK(trial.mismatches() == 0);
        CHECK(calls.wrong == 0);
        CHECK(calls.elements == 3 * count);
      }
    }
  }
}

TEST_CASE("a target may be the memory of any source") {
  const size_t count = 5000;
  for (DataType type : test::all_types()) {
    const size_t bytes = count * element_bytes(type);
    for (const Reduction& reduction : test::all_reductions(type, 3, false)) {
      for (size_t shared = 0; shared < 3; ++shared) {
        std::vector<std::vector<uint8_t>> inputs(3, std::vector<uint8_t>(bytes));
        std::vector<ReduceSource> sources;
        for (size_t s = 0; s < 3; ++s) {
          test::ElementSource(type, s).fill(inputs[s].data(), count);
          sources.push_back({inputs[s].data(), Content::input});
        }
        std::vector<uint8_t> apart(bytes);
        const ReduceTarget target[] = {{apart.data(), Content::final, false}};
        const ReduceTarget shared_target[] = {{inputs[shared].data(), Content::final, false}};
        reduce(reduction, sources, target, count);
        reduce(reduction, sources, shared_target, count);
        CAPTURE(type_name(type), op_name(reduction.op), shared);
        CHECK(inputs[shared] == apart);
      }
    }
  }
}

TEST_CASE("a created reduction says what it fits and makes the reduction of an operation") {
  // Misaligned, as a program may pass it.
  std::vector<uint8_t> memory(3);
  const uint16_t half = float32_to_bfloat16(0.5f);
  std::memcpy(&memory[1], &half, 2);
  const CreatedReduction sum = CreatedReduction::pre_mul_sum(rondeBfloat16, &memory[1]);
  CHECK(sum.fits(rondeBfloat16));
  CHECK_FALSE(sum.fits(rondeFloat16));
  CHECK_FALSE(sum.is_user_defined());
  CHECK_FALSE(sum.of(rondeBfloat16, false).is_ordered());
  CHECK(sum.of(rondeBfloat16, false).partial == rondeBfloat16);
  CHECK(sum.of(rondeBfloat16, true).partial == rondeFloat32);
  CHECK(sum.of(rondeBfloat16, true).factor == std::bit_cast<uint32_t>(0.5f));

  int user = 0;
  const CreatedReduction ordered = CreatedReduction::user_defined(mix_elements, &user, false);
  CHECK(ordered.fits(rondeInt8));
  CHECK(ordered.is_user_defined());
  CHECK_FALSE(ordered.is_commutative());
  CHECK(ordered.of(rondeBfloat16, true).partial == rondeBfloat16);
  CHECK(ordered.of(rondeBfloat16, true).is_ordered());
  CHECK(ordered.of(rondeBfloat16, true).user == &user);
  CHECK_FALSE(CreatedReduction::user_defined(mix_elements, nullptr, true).of(rondeInt8, false).is_ordered());
  CHECK_FALSE(Reduction::of(rondeFloat32, rondeSum, 2, false).is_ordered());
}

TEST_CASE("the factor of each narrow type is its scalar's value") {
  for (DataType type : {rondeFloat16, rondeBfloat16, rondeFloat8e4m3, rondeFloat8e5m2}) {
    for (uint64_t bits = 0; bits < (element_bytes(type) == 1 ? 256u : 65536u); bits += 1 + bits / 300) {
      const uint64_t expected = test::float_bits(rondeFloat32, test::float_value(type, bits));
      if (Reduction::pre_mul_sum(type, bits, false).factor != expected) FAIL(type_name(type) << " " << bits);
    }
  }
}

}  // namespace
}  // namespace ronde
