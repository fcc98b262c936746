// All-reduce of values whose sums round: within the bound, the same bits on all ranks and from run to run.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <cstring>
#include <string>

#include "runtime/all_reduce_model.h"

namespace ronde::testing {
namespace {

constexpr size_t kCount = 20'000;
constexpr double kBfloat16Rounding = 0x1p-8;  // at most, of a value that is rounded once

// In [-1, 1), the same for each call.
float value_of(int rank, size_t index) {
  const uint64_t state = (index * 8 + static_cast<uint64_t>(rank) + 1) * 0x9e3779b97f4a7c15u;
  return static_cast<float>(static_cast<int64_t>(state)) * 0x1p-63f;
}

uint16_t to_bfloat16(float value) {  // cut off: an input, not a result
  uint32_t bits = 0;
  std::memcpy(&bits, &value, sizeof bits);
  return static_cast<uint16_t>(bits >> 16);
}
double to_double(uint16_t value) {
  const uint32_t bits = static_cast<uint32_t>(value) << 16;
  float whole = 0;
  std::memcpy(&whole, &bits, sizeof whole);
  return whole;
}
double to_double(float value) { return value; }

template <typename T>
T input_of(int rank, size_t index) {
  if constexpr (sizeof(T) == 2) {
    return to_bfloat16(value_of(rank, index));
  } else {
    return value_of(rank, index);
  }
}

// Results by rank.
template <typename T>
std::vector<std::vector<T>> sums(const WorldOptions& options) {
  World world(options);
  std::vector<std::vector<T>> results(static_cast<size_t>(options.nranks), std::vector<T>(kCount));
  const auto statuses = world.run([&](Communicator& comm) {
    std::vector<T> input(kCount);
    for (size_t i = 0; i < kCount; ++i) input[i] = input_of<T>(comm.rank(), i);
    return comm.run({input.data(), results[static_cast<size_t>(comm.rank())].data(), kCount,
                     sizeof(T) == 2 ? rondeBfloat16 : rondeFloat32, rondeSum});
  });
  const Status failure = first_failure(statuses);
  INFO(failure.message());
  REQUIRE(failure.ok());
  return results;
}

struct Errors {
  double over_inputs = 0;   // the largest error over the sum of the inputs' absolute values
  double over_results = 0;  // beyond that of a float32 sum: the largest error over the result's absolute value
};

template <typename T>
Errors errors_of(const std::vector<T>& result, int nranks) {
  Errors errors;
  for (size_t i = 0; i < kCount; ++i) {
    double sum = 0;
    double size = 0;
    for (int rank = 0; rank < nranks; ++rank) {
      const double input = to_double(input_of<T>(rank, i));
      sum += input;
      size += std::abs(input);
    }
    const double error = std::abs(to_double(result[i]) - sum);
    errors.over_inputs = std::max(errors.over_inputs, error / size);
    const double beyond = error - nranks * 0x1p-24 * size;
    if (beyond > 0) errors.over_results = std::max(errors.over_results, beyond / std::abs(to_double(result[i])));
  }
  return errors;
}

WorldOptions world_of(int nranks, const std::string& algorithm) {
  WorldOptions options;
  options.nranks = nranks;
  options.settings = {{"RONDE_TRANSPORT", algorithm == "tcp" ? "tcp" : "inproc"},
                      {"RONDE_ALGO", algorithm == "tcp" ? "ring" : algorithm}};
  return options;
}

}  // namespace

TEST_CASE("float32 sums have the same bits on all ranks and in all runs") {
  for (const std::string algorithm : {"auto", "one_shot", "two_shot", "ring", "star", "tcp"}) {
    CAPTURE(algorithm);
    const auto first = sums<float>(world_of(5, algorithm));
    const auto second = sums<float>(world_of(5, algorithm));
    for (const auto& result : first) CHECK(std::memcmp(result.data(), first[0].data(), kCount * 4) == 0);
    CHECK(std::memcmp(first[0].data(), second[3].data(), kCount * 4) == 0);
    CHECK(errors_of(first[0], 5).over_inputs <= 4 * 0x1p-24);
  }
}

TEST_CASE("bfloat16 sums round once where an algorithm sees all inputs, at each hop on the ring") {
  for (const std::string algorithm : {"one_shot", "two_shot", "star"}) {
    CAPTURE(algorithm);
    const auto results = sums<uint16_t>(world_of(5, algorithm));
    for (const auto& result : results) CHECK(result == results[0]);
    CHECK(errors_of(results[0], 5).over_results <= kBfloat16Rounding);
  }
  const auto results = sums<uint16_t>(world_of(5, "ring"));
  for (const auto& result : results) CHECK(result == results[0]);
  CHECK(errors_of(results[0], 5).over_inputs <= 4 * kBfloat16Rounding);
  CHECK(errors_of(results[0], 5).over_results > kBfloat16Rounding);  // the check above can tell the difference
}

TEST_CASE("with RONDE_ACCUMULATE=float32 the ring rounds once, too") {
  for (const std::string algorithm : {"ring", "tcp"}) {
    for (const int nranks : {2, 3, 5}) {
      CAPTURE(algorithm, nranks);
      WorldOptions options = world_of(nranks, algorithm);
      options.settings.emplace_back("RONDE_ACCUMULATE", "float32");
      const auto results = sums<uint16_t>(options);
      for (const auto& result : results) CHECK(result == results[0]);
      CHECK(errors_of(results[0], nranks).over_results <= kBfloat16Rounding);
    }
  }
}

TEST_CASE("with RONDE_ACCUMULATE=float32 all results that are exact stay so") {
  for (const std::string transport : {"inproc", "tcp"}) {
    CAPTURE(transport);
    WorldOptions options;
    options.nranks = 3;
    options.settings = {{"RONDE_TRANSPORT", transport}, {"RONDE_ALGO", "ring"}, {"RONDE_ACCUMULATE", "float32"}};
    World world(options);
    REQUIRE(first_failure(world.made()).ok());
    const Status status = run_calls(world, mixed_calls(3, 2, 300'001));
    INFO(status.message());
    CHECK(status.ok());
  }
}

}  // namespace ronde::testing
