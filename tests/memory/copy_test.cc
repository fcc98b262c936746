#include <catch2/catch.hpp>
#include <cstring>
#include <numeric>
#include <vector>

#include "memory/reduce.h"
#include "memory/reduce_world.h"

namespace ronde {
namespace {

// Bytes 0, 1, 2 ... with a period that no vector has.
std::vector<uint8_t> pattern(size_t bytes) {
  std::vector<uint8_t> values(bytes);
  for (size_t i = 0; i < bytes; ++i) values[i] = static_cast<uint8_t>(i % 251);
  return values;
}

TEST_CASE("copy_bytes copies every length and alignment and nothing beside") {
  test::for_each_instruction_set([](const std::string& name) {
    size_t wrong = 0;
    for (size_t bytes = 0; bytes <= 600; bytes += bytes < 140 ? 1 : 23) {
      for (size_t misalignment : {0, 1, 4, 31, 48, 63}) {
        for (bool streaming : {false, true}) {
          const std::vector<uint8_t> from = pattern(bytes + 3);
          test::GuardedBytes to(bytes, misalignment);
          copy_bytes(to.data(), from.data() + misalignment % 3, bytes, streaming);
          wrong += !to.guards_are_whole();
          wrong += bytes != 0 && std::memcmp(to.data(), from.data() + misalignment % 3, bytes) != 0;
        }
      }
    }
    CAPTURE(name);
    CHECK(wrong == 0);
  });
}

TEST_CASE("copy_bytes copies a large range with non-temporal stores") {
  const std::vector<uint8_t> from = pattern(3'000'001);
  std::vector<uint8_t> to(from.size());
  copy_bytes(to.data(), from.data(), from.size(), true);
  CHECK(to == from);
}

}  // namespace
}  // namespace ronde
