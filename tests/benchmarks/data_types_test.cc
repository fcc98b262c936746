#include "common/data_types.h"

#include <bit>
#include <catch2/catch.hpp>
#include <cmath>
#include <random>

namespace {

using perf::decode;
using perf::encode;
using perf::type_info;

TEST_CASE("names") {
  CHECK(perf::type_from_name("f8e4m3") == rondeFloat8e4m3);
  CHECK(perf::op_from_name("avg") == rondeAvg);
  CHECK_FALSE(perf::type_from_name("floot").has_value());
  CHECK_FALSE(perf::op_from_name("").has_value());
  REQUIRE(perf::all_types().size() == rondeNumTypes);
  for (int type = 0; type < rondeNumTypes; ++type) {
    CHECK(type_info(static_cast<rondeDataType_t>(type)).type == type);
  }
  CHECK(perf::all_ops().size() == rondeNumOps + 4);
  CHECK(perf::op_from_name("mulsum") == perf::kMulSum);
  CHECK(perf::op_from_name("bxor") == rondeBitXor);
  CHECK(perf::fits(rondeBitAnd, rondeUint8));
  CHECK_FALSE(perf::fits(rondeBitAnd, rondeFloat8e4m3));
  CHECK(perf::fits(perf::kMulSum, rondeBfloat16));
}

TEST_CASE("known values of the small floats") {
  const auto& half = type_info(rondeFloat16);
  CHECK(decode(half, 0x3c00) == 1.0);
  CHECK(decode(half, 0x7bff) == 65504.0);
  CHECK(decode(half, 0x8001) == -std::ldexp(1.0, -24));
  CHECK(std::isinf(decode(half, 0x7c00)));
  CHECK(std::isnan(decode(half, 0x7e00)));
  CHECK(decode(type_info(rondeBfloat16), 0xc040) == -3.0);
  const auto& e4m3 = type_info(rondeFloat8e4m3);
  CHECK(decode(e4m3, 0x38) == 1.0);
  CHECK(decode(e4m3, 0x7e) == 448.0);
  CHECK(decode(e4m3, 0x01) == std::ldexp(1.0, -9));
  CHECK(std::isnan(decode(e4m3, 0x7f)));
  const auto& e5m2 = type_info(rondeFloat8e5m2);
  CHECK(decode(e5m2, 0x3c) == 1.0);
  CHECK(decode(e5m2, 0x7b) == 57344.0);
  CHECK(decode(e5m2, 0x01) == std::ldexp(1.0, -16));
  CHECK(std::isinf(decode(e5m2, 0x7c)));
  CHECK(std::isnan(decode(e5m2, 0x7d)));
}

TEST_CASE("float8 results beyond the greatest value become that value, others infinity") {
  CHECK(encode(type_info(rondeFloat8e4m3), 1e9) == 0x7e);
  CHECK(encode(type_info(rondeFloat8e4m3), -1e9) == 0xfe);
  CHECK(encode(type_info(rondeFloat8e5m2), 1e9) == 0x7b);
  CHECK(encode(type_info(rondeFloat16), 65520.0) == 0x7c00);
  CHECK(encode(type_info(rondeFloat16), 65519.0) == 0x7bff);
}

// Every representable value, and what lies between it and the next one.
TEST_CASE("rounding of all 8- and 16-bit floats is to nearest, ties to even") {
  for (rondeDataType_t type : {rondeFloat16, rondeBfloat16, rondeFloat8e4m3, rondeFloat8e5m2}) {
    const perf::TypeInfo& info = type_info(type);
    std::size_t wrong = 0;
    for (std::uint64_t bits = 0; bits < info.greatest_finite; ++bits) {
      const double low = decode(info, bits);
      const double high = decode(info, bits + 1);
      const double middle = low + (high - low) / 2;
      wrong += encode(info, low) != bits;
      wrong += encode(info, middle) != (bits % 2 == 0 ? bits : bits + 1);
      wrong += encode(info, std::nextafter(middle, low)) != bits;
      wrong += encode(info, std::nextafter(middle, high)) != bits + 1;
      wrong += encode(info, -high) != encode(info, high) + (1ULL << (8 * info.bytes - 1));
    }
    INFO(info.name);
    CHECK(wrong == 0);
  }
}

TEST_CASE("float32 and float64 agree with the processor") {
  std::mt19937_64 random(1);
  std::size_t wrong = 0;
  for (int i = 0; i < 100000; ++i) {
    const double value = std::ldexp(static_cast<double>(random()), static_cast<int>(random() % 300) - 200);
    wrong += encode(type_info(rondeFloat32), value) != std::bit_cast<std::uint32_t>(static_cast<float>(value));
    wrong += encode(type_info(rondeFloat64), value) != std::bit_cast<std::uint64_t>(value);
    wrong += decode(type_info(rondeFloat64), std::bit_cast<std::uint64_t>(value)) != value;
  }
  CHECK(wrong == 0);
}

TEST_CASE("distance in units in the last place") {
  const auto& half = type_info(rondeFloat16);
  CHECK(perf::ulps_between(half, 0x3c00, 0x3c02) == 2);
  CHECK(perf::ulps_between(half, 0x8001, 0x0001) == 2);
  CHECK(perf::ulps_between(half, 0x8000, 0x0000) == 0);
  CHECK(perf::ulps_between(half, 0x7e00, 0x0000) > 1000000);
  CHECK(perf::ulps_between(type_info(rondeFloat64), 0x8000000000000001, 0x7ff0000000000000) == 0x7ff0000000000001);
}

}  // namespace
