// Situation 27: overlapping buffers are refused on the rank that names them, and a right call takes the place.
#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "cases/support/elements.h"
#include "cases/support/ranks.h"

namespace ronde::cases {
namespace {

constexpr size_t kCount = 1000;

std::vector<float> numbers(int rank) {
  std::vector<float> values(kCount + 1);
  for (size_t i = 0; i <= kCount; ++i) values[i] = static_cast<float>(i + 10'000 * static_cast<size_t>(rank));
  return values;
}

void refused(Rank& rank, std::ptrdiff_t distance) {
  std::vector<float> values = numbers(rank.number());
  const std::vector<float> before = values;
  float* send = values.data() + (distance < 0 ? 1 : 0);
  const rondeResult_t result = rank.all_reduce(send, send + distance, kCount, rondeFloat32, rondeSum);
  expect(result == rondeInvalidArgument, "an overlap was not refused but " + std::string(rondeGetErrorString(result)));
  const std::string text = rondeGetLastError(nullptr);
  expect(text.find("overlap") != std::string::npos, "the error does not say what is wrong: " + text);
  expect(values == before, "something was written");
}

void right(Rank& rank, bool in_place) {
  std::vector<float> input = numbers(rank.number());
  std::vector<float> apart(kCount);
  float* result = in_place ? input.data() : apart.data();
  expect_success(rank.all_reduce(input.data(), result, kCount, rondeFloat32, rondeSum), "the right call");
  const auto nranks = static_cast<size_t>(rank.nranks());
  for (size_t i = 0; i < kCount; ++i) {
    const auto sum = static_cast<float>(nranks * i + 10'000 * nranks * (nranks - 1) / 2);
    expect(result[i] == sum, "element " + std::to_string(i) + " is wrong");
  }
  expect(!in_place || input[kCount] == static_cast<float>(kCount + 10'000 * static_cast<size_t>(rank.number())),
         "the element after the buffer was written");
}

}  // namespace

TEST_CASE("case_27_overlapping_buffers") {
  for (const Way& way : all_paths()) {
    CHECK(run_ranks({way, 3}, [](Rank& rank) {
            for (int round = 0; round < 3; ++round) {
              if (rank.number() == round) {
                refused(rank, 1);
                refused(rank, -1);
              }
              right(rank, round == 1);
            }
          }) == "");
  }
}

TEST_CASE("case_27_touching_buffers_are_right") {
  for (const Way& way : pairwise_ways()) {
    CHECK(run_ranks({way, 2}, [](Rank& rank) {
            std::vector<float> memory(2 * kCount, static_cast<float>(rank.number() + 1));
            expect_success(rank.all_reduce(memory.data(), memory.data() + kCount, kCount, rondeFloat32, rondeSum),
                           "touching");
            for (size_t i = 0; i < 2 * kCount; ++i) {
              const float wanted = i < kCount ? static_cast<float>(rank.number() + 1) : 3;
              expect(memory[i] == wanted, "element " + std::to_string(i) + " is wrong");
            }
          }) == "");
  }
}

}  // namespace ronde::cases
