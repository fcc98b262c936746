#include "common/sizes.h"

#include <catch2/catch.hpp>

namespace {

std::size_t size(const char* text) {
  std::string why;
  const auto bytes = perf::parse_size(text, &why);
  INFO(text << ": " << why);
  REQUIRE(bytes.has_value());
  return *bytes;
}

TEST_CASE("sizes with and without suffix") {
  CHECK(size("0") == 0);
  CHECK(size("8") == 8);
  CHECK(size("64K") == 65536);
  CHECK(size("64k") == 65536);
  CHECK(size("64KB") == 65536);
  CHECK(size("64KiB") == 65536);
  CHECK(size("8B") == 8);
  CHECK(size("1.5M") == 1572864);
  CHECK(size(".5K") == 512);
  CHECK(size("2.G") == 2ULL << 30);
  CHECK(size("1T") == 1ULL << 40);
  CHECK(size("0.1K") == 102);  // 102.4, cut
}

TEST_CASE("what is no size is refused with a reason") {
  for (const char* text : {"", "K", "-1", "+1", "1e9", "0x10", "1.2.3M", "1.5", "12abc", "1KK", "1 K", "1P", "BB", ".",
                           "99999999999999999999G", "5T5"}) {
    INFO(text);
    std::string why;
    CHECK_FALSE(perf::parse_size(text, &why).has_value());
    CHECK_FALSE(why.empty());
  }
}

}  // namespace
