// How many random runs a test makes.
#pragma once

#include <cstdint>
#include <cstdlib>

namespace ronde::testing {

// RONDE_TEST_SEEDS, where it is set; each seed is a run of its own.
inline uint64_t number_of_seeds(uint64_t otherwise) {
  const char* given = std::getenv("RONDE_TEST_SEEDS");
  return given == nullptr ? otherwise : std::strtoull(given, nullptr, 10);
}

}  // namespace ronde::testing
