// The numbers that cases.md and ronde.h promise, written out.
#include <catch2/catch.hpp>
#include <cmath>
#include <limits>
#include <vector>

#include "memory/float_formats.h"
#include "memory/reduce.h"

namespace ronde {
namespace {

template <class T>
std::vector<T> reduced(DataType type, RedOp op, const std::vector<std::vector<T>>& ranks) {
  std::vector<ReduceSource> sources;
  for (const std::vector<T>& rank : ranks) sources.push_back({rank.data(), Content::input});
  std::vector<T> result(ranks[0].size());
  const ReduceTarget targets[] = {{result.data(), Content::final, false}};
  reduce(Reduction::of(type, op, static_cast<int>(ranks.size()), false), sources, targets, result.size());
  return result;
}

TEST_CASE("case_01 reduce: integer average is cut toward zero, sums wrap") {
  CHECK(reduced<uint8_t>(rondeUint8, rondeAvg, {{10, 0, 1}, {20, 0, 1}, {30, 1, 1}, {41, 0, 0}}) ==
        std::vector<uint8_t>{25, 0, 0});
  CHECK(reduced<int8_t>(rondeInt8, rondeAvg, {{-1, -3}, {-2, 0}, {-2, 0}, {-2, 0}}) == std::vector<int8_t>{-1, 0});
  CHECK(reduced<int8_t>(rondeInt8, rondeSum, {{120}, {100}}) == std::vector<int8_t>{-36});
  CHECK(reduced<uint8_t>(rondeUint8, rondeAvg, {{250}, {250}, {250}, {250}}) == std::vector<uint8_t>{58});
  CHECK(reduced<int32_t>(rondeInt32, rondeSum, {{2147483647}, {1}}) == std::vector<int32_t>{-2147483647 - 1});
  CHECK(reduced<int64_t>(rondeInt64, rondeAvg, {{-7}, {0}}) == std::vector<int64_t>{-3});
}

TEST_CASE("reduce: bitwise reductions take the sign bit like any other") {
  CHECK(reduced<int8_t>(rondeInt8, rondeBitAnd, {{-1, 0x0f}, {-128, 0x3c}}) == std::vector<int8_t>{-128, 0x0c});
  CHECK(reduced<int32_t>(rondeInt32, rondeBitOr, {{1}, {-2147483647 - 1}, {6}}) == std::vector<int32_t>{-2147483641});
  CHECK(reduced<uint64_t>(rondeUint64, rondeBitXor, {{~uint64_t{0}, 5}, {1, 5}}) ==
        std::vector<uint64_t>{~uint64_t{1}, 0});
}

TEST_CASE("case_02 reduce: one rounding of low-precision sums, no overflow of averages") {
  std::vector<std::vector<uint16_t>> ranks(8, std::vector<uint16_t>(1000, float32_to_bfloat16(1)));
  ranks[0].assign(1000, float32_to_bfloat16(256));
  CHECK(reduced<uint16_t>(rondeBfloat16, rondeSum, ranks) == std::vector<uint16_t>(1000, float32_to_bfloat16(264)));
  const std::vector<std::vector<uint16_t>> large(4, std::vector<uint16_t>(50, float32_to_float16(60000)));
  CHECK(reduced<uint16_t>(rondeFloat16, rondeAvg, large) == large[0]);
}

TEST_CASE("case_02 reduce: float32 partials are rounded once at the end") {
  const uint16_t one = float32_to_bfloat16(1);
  const Reduction reduction = Reduction::of(rondeBfloat16, rondeSum, 8, true);
  float partial = 256;
  uint16_t result = 0;
  for (int hop = 0; hop < 7; ++hop) {
    const ReduceSource sources[] = {{&partial, Content::partial}, {&one, Content::input}};
    const ReduceTarget targets[] = {{&partial, Content::partial, false}, {&result, Content::final, false}};
    reduce(reduction, sources, targets, 1);
  }
  CHECK(partial == 263);
  CHECK(bfloat16_to_float32(result) == 264);
}

TEST_CASE("case_03 reduce: NaN wins in minimum and maximum wherever it is") {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  for (size_t place = 0; place < 4; ++place) {
    for (RedOp op : {rondeMin, rondeMax}) {
      std::vector<std::vector<float>> singles;
      std::vector<std::vector<double>> doubles;
      std::vector<std::vector<uint16_t>> halves;
      std::vector<std::vector<uint16_t>> brains;
      for (size_t rank = 0; rank < 4; ++rank) {
        std::vector<float> values(5, static_cast<float>(rank + 1));
        if (rank == place) values[2] = nan;
        singles.push_back(values);
        doubles.emplace_back(values.begin(), values.end());
        halves.emplace_back();
        brains.emplace_back();
        for (float value : values) halves.back().push_back(float32_to_float16(value));
        for (float value : values) brains.back().push_back(float32_to_bfloat16(value));
      }
      const std::vector<float> single = reduced(rondeFloat32, op, singles);
      const std::vector<double> wide = reduced(rondeFloat64, op, doubles);
      const std::vector<uint16_t> half = reduced(rondeFloat16, op, halves);
      const std::vector<uint16_t> brain = reduced(rondeBfloat16, op, brains);
      const float other = op == rondeMin ? 1 : 4;
      for (size_t i = 0; i < 5; ++i) {
        const auto is_right = [&](double value) { return i == 2 ? std::isnan(value) : value == other; };
        CHECK(is_right(single[i]));
        CHECK(is_right(wide[i]));
        CHECK(is_right(float16_to_float32(half[i])));
        CHECK(is_right(bfloat16_to_float32(brain[i])));
      }
    }
  }
}

TEST_CASE("reduce: float8 saturates, NaN stays") {
  const auto e4m3 = [](float a, float b) {
    return reduced<uint8_t>(rondeFloat8e4m3, rondeSum, {{float32_to_float8e4m3(a)}, {float32_to_float8e4m3(b)}})[0];
  };
  CHECK(e4m3(448, 448) == 0x7e);
  CHECK(e4m3(-448, -32) == 0xfe);
  CHECK(e4m3(1, NAN) == 0x7f);
  // e5m2 has an infinity, but results never are.
  CHECK(reduced<uint8_t>(rondeFloat8e5m2, rondeSum, {{0x7c}, {0x3c}})[0] == 0x7b);
  CHECK(reduced<uint8_t>(rondeFloat8e5m2, rondeSum, {{0x7c}, {0xfc}})[0] == 0x7e);
}

TEST_CASE("reduce: nothing is done for no elements") {
  const ReduceSource sources[] = {{nullptr, Content::input}, {nullptr, Content::input}};
  const ReduceTarget targets[] = {{nullptr, Content::final, true}};
  reduce(Reduction::of(rondeFloat32, rondeSum, 2, false), sources, targets, 0);
  SUCCEED();
}

}  // namespace
}  // namespace ronde
