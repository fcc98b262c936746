// How many random runs a test makes.
#pragma once

#include <cstdint>
#include <cstdlib>

namespace ronde::testing {

// What the variable says, where it is set; each run has its number as its seed.
inline uint64_t how_many(const char* variable, uint64_t otherwise) {
  const char* given = std::getenv(variable);
  return given == nullptr ? otherwise : std::strtoull(given, nullptr, 10);
}

}  // namespace ronde::testing
