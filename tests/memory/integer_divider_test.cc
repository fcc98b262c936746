#include "memory/integer_divider.h"

#include <catch2/catch.hpp>
#include <random>
#include <vector>

namespace ronde {
namespace {

TEST_CASE("division by multiplication gives the quotient") {
  std::mt19937_64 random(7);
  std::vector<uint32_t> divisors = {0x7fffffff, 0x7ffffffe, 0x40000000, 0x40000001, 0x3fffffff};
  for (uint32_t divisor = 2; divisor < 300; ++divisor) divisors.push_back(divisor);
  for (int i = 0; i < 100; ++i) divisors.push_back(2 + static_cast<uint32_t>(random() % 0x7ffffffe));
  size_t wrong = 0;
  for (uint32_t divisor : divisors) {
    const IntegerDivider divider(divisor);
    std::vector<uint64_t> values = {0,
                                    1,
                                    divisor - 1,
                                    divisor,
                                    ~uint64_t{0},
                                    ~uint64_t{0} / divisor * divisor,
                                    ~uint64_t{0} / divisor * divisor - 1,
                                    uint64_t{1} << 63};
    for (int i = 0; i < 100; ++i) values.push_back(random() >> (i % 64));
    for (int i = 0; i < 100; ++i) values.push_back(random() % (~uint64_t{0} / divisor) * divisor - i % 2);
    for (uint64_t value : values) wrong += divider.divide(value) != value / divisor;
  }
  CHECK(wrong == 0);
}

}  // namespace
}  // namespace ronde
