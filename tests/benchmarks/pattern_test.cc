// The check itself must find what it is there for.
#include "common/pattern.h"

#include <catch2/catch.hpp>

#include "common/buffer.h"

namespace {

const perf::Reduction kReduction{rondeFloat32, rondeSum, 4};

TEST_CASE("a filled buffer is right, and each wrong element counts once") {
  perf::Pattern pattern(kReduction);
  const perf::TypeInfo& type = pattern.type();
  const std::size_t count = 3 * perf::kPeriod + 17;
  std::vector<std::byte> data(count * type.bytes);
  perf::fill(type, pattern.reduced(), 100, count, false, data.data());
  CHECK(perf::count_wrong(type, pattern.reduced(), 100, count, 0, data.data()) == 0);
  CHECK(perf::load_bits(type, &data[5 * type.bytes]) == perf::expected_bits(kReduction, 105));
  data[0] ^= std::byte{1};
  data[7] ^= std::byte{0x80};
  data[4] ^= std::byte{1};
  data[data.size() - 1] ^= std::byte{1};
  CHECK(perf::count_wrong(type, pattern.reduced(), 100, count, 0, data.data()) == 3);
}

TEST_CASE("poison is wrong in every element, for every type and reduction") {
  for (const perf::TypeInfo& type : perf::all_types()) {
    for (const perf::OpInfo& op : perf::all_ops()) {
      perf::Pattern pattern({type.type, op.op, 3});
      std::vector<std::byte> data(perf::kPeriod * type.bytes);
      perf::fill(type, pattern.reduced(), 0, perf::kPeriod, true, data.data());
      const int ulps = pattern.reduced_allowed_ulps();
      INFO(type.name << " " << op.name);
      CHECK(perf::count_wrong(type, pattern.reduced(), 0, perf::kPeriod, ulps, data.data()) == perf::kPeriod);
    }
  }
}

TEST_CASE("a chunk at the wrong place and the result of an earlier run are wrong") {
  perf::Pattern pattern(kReduction);
  const perf::TypeInfo& type = pattern.type();
  const std::size_t count = 1U << 15;
  std::vector<std::byte> data(count * type.bytes);
  for (std::size_t shift : {1U, 64U, 4096U, 1U << 14}) {
    perf::fill(type, pattern.reduced(), shift, count, false, data.data());
    CHECK(perf::count_wrong(type, pattern.reduced(), 0, count, 0, data.data()) > count * 9 / 10);
  }
}

TEST_CASE("within the allowed units nothing is wrong") {
  perf::Pattern pattern({rondeFloat32, rondeAvg, 3});
  const perf::TypeInfo& type = pattern.type();
  REQUIRE(pattern.reduced_allowed_ulps() == 2);
  std::vector<std::byte> data = pattern.reduced();
  const auto move = [&](std::size_t index, std::uint64_t ulps) {
    std::byte* at = &data[index * type.bytes];
    perf::store_bits(type, perf::load_bits(type, at) + ulps, at);
  };
  std::size_t nonzero = 0;
  while (perf::load_bits(type, &data[nonzero * type.bytes]) == 0) ++nonzero;
  move(nonzero, 2);
  CHECK(perf::count_wrong(type, pattern.reduced(), 0, perf::kPeriod, 2, data.data()) == 0);
  move(nonzero, 1);
  CHECK(perf::count_wrong(type, pattern.reduced(), 0, perf::kPeriod, 2, data.data()) == 1);
}

TEST_CASE("guards around a part of a buffer") {
  const perf::Buffer buffer(1000, 12);
  CHECK(reinterpret_cast<std::uintptr_t>(buffer.data()) % 4096 == 12);
  buffer.arm(0, 1000);
  CHECK(buffer.broken(0, 1000) == 0);
  buffer.data()[-1] = std::byte{0};
  buffer.data()[1000] = std::byte{0};
  buffer.data()[1000 + perf::kGuardBytes - 1] = std::byte{1};
  CHECK(buffer.broken(0, 1000) == 3);
  buffer.arm(100, 0);
  CHECK(buffer.broken(100, 0) == 0);
}

}  // namespace
