// Values: each type with each reduction against the model, on every instruction set.
#include <catch2/catch.hpp>
#include <cstring>
#include <vector>

#include "memory/reduce.h"
#include "memory/reduce_world.h"

namespace ronde::test {
namespace {

// The number of bytes of a op b that differ from the model's.
size_t compare_pairs(DataType type, const std::vector<uint8_t>& a, const std::vector<uint8_t>& b) {
  size_t wrong = 0;
  const size_t count = a.size() / element_bytes(type);
  std::vector<uint8_t> expected(a.size());
  std::vector<uint8_t> actual(a.size());
  for (const Reduction& reduction : all_reductions(type, 2, false)) {
    const ReduceSource sources[] = {{a.data(), Content::input}, {b.data(), Content::input}};
    const ReduceTarget model_target[] = {{expected.data(), Content::final, false}};
    const ReduceTarget target[] = {{actual.data(), Content::final, false}};
    model_reduce(reduction, sources, model_target, count);
    for_each_instruction_set([&](const std::string&) {
      reduce(reduction, sources, target, count);
      if (actual == expected) return;
      for (size_t i = 0; i < actual.size(); ++i) wrong += actual[i] != expected[i];
    });
  }
  return wrong;
}

TEST_CASE("reduce: all pairs of the 8-bit types") {
  std::vector<uint8_t> a(65536);
  std::vector<uint8_t> b(65536);
  for (size_t i = 0; i < a.size(); ++i) {
    a[i] = static_cast<uint8_t>(i);
    b[i] = static_cast<uint8_t>(i >> 8);
  }
  for (DataType type : {rondeInt8, rondeUint8, rondeFloat8e4m3, rondeFloat8e5m2}) {
    CAPTURE(type_name(type));
    CHECK(compare_pairs(type, a, b) == 0);
  }
}

TEST_CASE("reduce: all values of the 16-bit types with special and random partners") {
  for (DataType type : {rondeFloat16, rondeBfloat16}) {
    std::vector<uint64_t> partners = special_elements(type);
    for (uint64_t bits : {0x3555, 0x4248, 0x1234, 0xcafe, 0x77ff, 0x0fff}) partners.push_back(bits);
    std::vector<uint8_t> a(65536 * 2);
    std::vector<uint8_t> b(65536 * 2);
    for (size_t i = 0; i < 65536; ++i) std::memcpy(&a[2 * i], &i, 2);
    size_t wrong = 0;
    // Each value meets each partner in some round only, else the model takes too long.
    const size_t rounds = 4;
    for (size_t round = 0; round < rounds; ++round) {
      for (size_t i = 0; i < 65536; ++i) std::memcpy(&b[2 * i], &partners[(i * 7 + round * 5) % partners.size()], 2);
      wrong += round % 2 == 0 ? compare_pairs(type, a, b) : compare_pairs(type, b, a);
    }
    CAPTURE(type_name(type));
    CHECK(wrong == 0);
  }
}

TEST_CASE("reduce: special values with special values of the wide types") {
  for (DataType type : {rondeInt32, rondeUint32, rondeInt64, rondeUint64, rondeFloat32, rondeFloat64}) {
    const std::vector<uint64_t> specials = special_elements(type);
    const size_t bytes = element_bytes(type);
    std::vector<uint8_t> a(specials.size() * specials.size() * bytes);
    std::vector<uint8_t> b(a.size());
    for (size_t i = 0; i < specials.size() * specials.size(); ++i) {
      std::memcpy(&a[i * bytes], &specials[i / specials.size()], bytes);
      std::memcpy(&b[i * bytes], &specials[i % specials.size()], bytes);
    }
    CAPTURE(type_name(type));
    CHECK(compare_pairs(type, a, b) == 0);
  }
}

TEST_CASE("reduce: random and special values, 1 to 9 sources, averages over odd and large numbers of ranks") {
  for_each_instruction_set([](const std::string& name) {
    for (DataType type : all_types()) {
      for (int nranks : {3, 1, 8, 255, 257, 2147483647}) {
        for (const Reduction& reduction : all_reductions(type, nranks, false)) {
          if (reduction.op != rondeAvg && nranks != 3) continue;
          for (size_t number : {1, 2, 3, 4, 5, 8, 9}) {
            Trial trial;
            trial.reduction = reduction;
            trial.count = 333;
            trial.sources.assign(number, Content::input);
            trial.targets = {Content::final};
            trial.seed = number;
            const size_t wrong = trial.mismatches();
            if (wrong == 0) continue;
            INFO(name << ": " << trial.describe());
            CHECK(wrong == 0);
          }
        }
      }
    }
  });
}

TEST_CASE("reduce: PreMulSum by every scalar of the 8-bit types and special ones of the others") {
  for_each_instruction_set([](const std::string& name) {
    for (DataType type : all_types()) {
      std::vector<uint64_t> scalars = special_elements(type);
      for (uint64_t bits = 0; element_bytes(type) == 1 && bits < 256; ++bits) scalars.push_back(bits);
      for (uint64_t scalar : scalars) {
        for (size_t number : {1, 2, 5}) {
          Trial trial;
          trial.reduction = Reduction::pre_mul_sum(type, scalar, number == 2);
          trial.count = 77;
          trial.sources.assign(number, Content::input);
          trial.sources[0] = number == 5 ? Content::ready : Content::input;
          trial.targets = {Content::final, Content::partial};
          trial.seed = scalar + number;
          const size_t wrong = trial.mismatches();
          if (wrong == 0) continue;
          INFO(name << ": " << trial.describe());
          CHECK(wrong == 0);
        }
      }
    }
  });
}

TEST_CASE("reduce: a model that multiplies by another scalar, or swaps the sides of a function, is found out") {
  for (DataType type : all_types()) {
    Trial trial;
    trial.reduction = Reduction::pre_mul_sum(type, is_float(type) ? float_bits(type, 1.5) : 3, false);
    trial.model_reduction = Reduction::pre_mul_sum(type, is_float(type) ? float_bits(type, 1.75) : 7, false);
    trial.count = 100;
    trial.sources = {Content::input, Content::input};
    trial.targets = {Content::final};
    CHECK(trial.mismatches() > 0);

    trial.reduction = Reduction::user_defined(type, mix_elements, nullptr, false);
    trial.model_reduction = Reduction::user_defined(
        type,
        [](const void* left, const void* right, void* result, size_t count, rondeDataType_t t, void* user) {
          mix_elements(right, left, result, count, t, user);
        },
        nullptr, false);
    CHECK(trial.mismatches() > 0);
  }
}

TEST_CASE("reduce: a model that truncates instead of rounding is found out") {
  for (DataType type : {rondeFloat16, rondeBfloat16, rondeFloat8e4m3, rondeFloat8e5m2}) {
    Trial trial;
    trial.reduction = Reduction::of(type, rondeSum, 2, false);
    trial.count = 1000;
    trial.sources = {Content::input, Content::input};
    trial.targets = {Content::final};
    CHECK(trial.mismatches() == 0);
    trial.model_rounding = Rounding::toward_zero;
    CHECK(trial.mismatches() > 0);
  }
}

}  // namespace
}  // namespace ronde::test
