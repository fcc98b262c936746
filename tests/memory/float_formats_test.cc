#include "memory/float_formats.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <limits>
#include <random>

#include "memory/reduce_model.h"

namespace ronde {
namespace {

using test::float_bits;
using test::float_value;

float widened(DataType type, uint32_t bits) {
  switch (type) {
    case rondeFloat16: return float16_to_float32(static_cast<uint16_t>(bits));
    case rondeBfloat16: return bfloat16_to_float32(static_cast<uint16_t>(bits));
    case rondeFloat8e4m3: return float8e4m3_to_float32(static_cast<uint8_t>(bits));
    default: return float8e5m2_to_float32(static_cast<uint8_t>(bits));
  }
}

uint32_t narrowed(DataType type, float value) {
  switch (type) {
    case rondeFloat16: return float32_to_float16(value);
    case rondeBfloat16: return float32_to_bfloat16(value);
    case rondeFloat8e4m3: return float32_to_float8e4m3(value);
    default: return float32_to_float8e5m2(value);
  }
}

const DataType kNarrowTypes[] = {rondeFloat16, rondeBfloat16, rondeFloat8e4m3, rondeFloat8e5m2};

uint32_t number_of(DataType type) { return element_bytes(type) == 1 ? 256 : 65536; }

TEST_CASE("narrow floats: every value widens exactly") {
  for (DataType type : kNarrowTypes) {
    size_t wrong = 0;
    for (uint32_t bits = 0; bits < number_of(type); ++bits) {
      const uint64_t expected = float_bits(rondeFloat32, float_value(type, bits));
      wrong += std::bit_cast<uint32_t>(widened(type, bits)) != expected;
    }
    CAPTURE(type_name(type));
    CHECK(wrong == 0);
  }
}

TEST_CASE("narrow floats: rounding is right at, before and after every value and every tie") {
  for (DataType type : kNarrowTypes) {
    size_t wrong = 0;
    for (uint32_t bits = 0; bits + 1 < number_of(type); ++bits) {
      const float value = widened(type, bits);
      const float tie = static_cast<float>((double{value} + double{widened(type, bits + 1)}) / 2);
      for (float point : {value, tie}) {
        for (float near : {point, std::nextafter(point, -INFINITY), std::nextafter(point, INFINITY)}) {
          wrong += narrowed(type, near) != float_bits(type, near);
        }
      }
    }
    CAPTURE(type_name(type));
    CHECK(wrong == 0);
  }
}

TEST_CASE("narrow floats: random and special float32 values round as the model says") {
  std::mt19937 random(3);
  for (DataType type : kNarrowTypes) {
    size_t wrong = 0;
    for (int i = 0; i < 200000; ++i) {
      const float value = std::bit_cast<float>(static_cast<uint32_t>(random()));
      wrong += narrowed(type, value) != float_bits(type, value);
    }
    for (uint32_t bits : {0u, 1u, 0x80000000u, 0x7f7fffffu, 0x7f800000u, 0xff800000u, 0x7f800001u, 0xffffffffu}) {
      const float value = std::bit_cast<float>(bits);
      wrong += narrowed(type, value) != float_bits(type, value);
    }
    CAPTURE(type_name(type));
    CHECK(wrong == 0);
  }
}

TEST_CASE("narrow floats: known encodings") {
  CHECK(float32_to_float16(65504) == 0x7bff);
  CHECK(float32_to_float16(65519.996f) == 0x7bff);
  CHECK(float32_to_float16(65520) == 0x7c00);
  CHECK(float32_to_float16(std::ldexp(1.0f, -24)) == 0x0001);
  CHECK(float32_to_float16(std::ldexp(1.0f, -25)) == 0x0000);
  CHECK(float32_to_bfloat16(263) == float32_to_bfloat16(264));
  CHECK(float32_to_bfloat16(std::numeric_limits<float>::max()) == 0x7f80);
  CHECK(float32_to_float8e4m3(448) == 0x7e);
  CHECK(float32_to_float8e4m3(1e9f) == 0x7e);
  CHECK(float32_to_float8e4m3(-INFINITY) == 0xfe);
  CHECK(float32_to_float8e4m3(NAN) == 0x7f);
  CHECK(float32_to_float8e5m2(57344) == 0x7b);
  CHECK(float32_to_float8e5m2(INFINITY) == 0x7b);
  CHECK(std::isinf(float8e5m2_to_float32(0x7c)));
  CHECK(float8e4m3_to_float32(0x01) == std::ldexp(1.0f, -9));
}

}  // namespace
}  // namespace ronde
