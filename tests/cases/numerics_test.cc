// Situations 1 to 3: what reductions give at the edges of their types, on every path.
#include <catch2/catch.hpp>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "cases/support/elements.h"
#include "cases/support/ranks.h"

namespace ronde::cases {
namespace {

using Bytes = std::vector<unsigned char>;

Bytes elements(rondeDataType_t type, const std::vector<double>& values) {
  Bytes bytes(values.size() * bytes_of(type));
  for (size_t i = 0; i < values.size(); ++i) put(type, bytes.data(), i, values[i]);
  return bytes;
}

std::string list(rondeDataType_t type, const Bytes& bytes) {
  std::string text;
  for (size_t i = 0; i < bytes.size() / bytes_of(type); ++i) text += " " + std::to_string(get(type, bytes.data(), i));
  return text;
}

// In place and out of place; compares bytes, so only for results that have one right form.
void expect_result(Rank& rank, rondeDataType_t type, rondeRedOp_t op, const std::vector<double>& mine,
                   const std::vector<double>& right) {
  const Bytes input = elements(type, mine);
  const Bytes expected = elements(type, right);
  Bytes apart(input.size(), 0xee);
  expect_success(rank.all_reduce(input.data(), apart.data(), mine.size(), type, op), "out of place");
  Bytes in_place = input;
  expect_success(rank.all_reduce(in_place.data(), in_place.data(), mine.size(), type, op), "in place");
  for (const Bytes* result : {&apart, &in_place}) {
    expect(*result == expected,
           name_of(type) + " " + name_of(op) + " gives" + list(type, *result) + " instead of" + list(type, expected));
  }
}

}  // namespace

TEST_CASE("case_01_integer_average") {
  for (const Way& way : all_paths()) {
    CHECK(run_ranks({way, 4}, [](Rank& rank) {
            const std::vector<std::vector<double>> bytes = {{10, 0, 1}, {20, 0, 1}, {30, 1, 1}, {41, 0, 0}};
            expect_result(rank, rondeUint8, rondeAvg, bytes[static_cast<size_t>(rank.number())], {25, 0, 0});
            const std::vector<std::vector<double>> negative = {{-1, -3}, {-2, 0}, {-2, 0}, {-2, 0}};
            expect_result(rank, rondeInt8, rondeAvg, negative[static_cast<size_t>(rank.number())], {-1, 0});
            // Beyond one line of payload too, where another algorithm takes over.
            expect_result(rank, rondeUint8, rondeAvg, std::vector<double>(1000, 250), std::vector<double>(1000, 58));
          }) == "");
  }
}

TEST_CASE("case_01_integer_overflow") {
  for (const Way& way : all_paths()) {
    CHECK(run_ranks({way, 2}, [](Rank& rank) {
            expect_result(rank, rondeInt8, rondeSum, {rank.number() == 0 ? 120.0 : 100.0}, {-36});
            for (const rondeDataType_t type : {rondeInt8, rondeInt32, rondeInt64}) {
              // The greatest value of the type, as bits: 2^63 - 1 is no double.
              Bytes greatest(bytes_of(type) * 100, 0xff);
              for (size_t i = 0; i < 100; ++i) greatest[(i + 1) * bytes_of(type) - 1] = 0x7f;
              for (const rondeRedOp_t op : {rondeSum, rondeProd}) {
                Bytes result(greatest.size());
                expect_success(rank.all_reduce(greatest.data(), result.data(), 100, type, op), "greatest");
                // (2^(b-1) - 1) * 2 = -2 and (2^(b-1) - 1)^2 = 1, modulo 2^b.
                const double right = op == rondeSum ? -2 : 1;
                for (size_t i = 0; i < 100; ++i) {
                  expect(get(type, result.data(), i) == right,
                         name_of(type) + " " + name_of(op) + " overflows wrongly");
                }
              }
            }
          }) == "");
  }
}

namespace {

void sum_of_256_and_ones(Rank& rank, bool rounded_once) {
  constexpr size_t kCount = 1000;
  const Bytes input = elements(rondeBfloat16, std::vector<double>(kCount, rank.number() == 0 ? 256.0 : 1.0));
  Bytes result(input.size());
  expect_success(rank.all_reduce(input.data(), result.data(), kCount, rondeBfloat16, rondeSum), "sum");
  const double bound = (rank.nranks() - 1) * 0x1p-8 * (256 + rank.nranks() - 1);
  for (size_t i = 0; i < kCount; ++i) {
    const double value = get(rondeBfloat16, result.data(), i);
    if (rounded_once) {
      expect(value == 264, "element " + std::to_string(i) + " is " + std::to_string(value) + ", not 264");
    } else {
      expect(std::fabs(value - 263) <= bound, "element " + std::to_string(i) + " is " + std::to_string(value) +
                                                  ", further from 263 than " + std::to_string(bound));
    }
  }
  rank.must_be_equal_everywhere(result.data(), result.size());
}

}  // namespace

TEST_CASE("case_02_sum_rounded_once_where_all_inputs_are_seen") {
  for (const char* algorithm : {"one_shot", "two_shot", "star"}) {
    for (const Way& way : {Way{"shm", false, "shm", algorithm}, Way{"inproc", true, "inproc", algorithm, true}}) {
      CAPTURE(algorithm);
      CHECK(run_ranks({way, 8}, [](Rank& rank) { sum_of_256_and_ones(rank, true); }) == "");
    }
  }
}

TEST_CASE("case_02_sum_on_the_ring_is_within_its_bound") {
  for (const Way& way : {Way{"inproc", true, "inproc", "ring", true}, Way{"shm", false, "shm", "ring"},
                         Way{"tcp", false, "tcp", "auto"}}) {
    CHECK(run_ranks({way, 8}, [](Rank& rank) { sum_of_256_and_ones(rank, false); }) == "");
  }
}

TEST_CASE("case_02_sum_accumulated_in_float32") {
  for (const Way& way : all_paths()) {
    CHECK(run_ranks({way, 8, {{"RONDE_ACCUMULATE", "float32"}}}, [](Rank& rank) { sum_of_256_and_ones(rank, true); }) ==
          "");
  }
}

TEST_CASE("case_02_float16_average_does_not_overflow") {
  for (const Way& way : all_paths()) {
    CHECK(run_ranks({way, 4}, [](Rank& rank) {
            // 60000 is a multiple of 32, so it is a float16.
            for (const size_t count : {size_t{1}, size_t{1000}}) {
              expect_result(rank, rondeFloat16, rondeAvg, std::vector<double>(count, 60000),
                            std::vector<double>(count, 60000));
            }
          }) == "");
  }
}

TEST_CASE("case_03_nan_in_minimum_and_maximum") {
  constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
  for (const Way& way : all_paths()) {
    CHECK(run_ranks({way, 4}, [](Rank& rank) {
            for (const rondeDataType_t type : float_types()) {
              for (const rondeRedOp_t op : {rondeMin, rondeMax}) {
                for (int place = 0; place < 4; ++place) {
                  const int number = rank.number();
                  const double third = number == place ? kNaN : 1.0 + number;
                  const std::vector<double> mine = {1.0 + number, 4.0 - number, third, -2.0 * number, 0.5 * number};
                  Bytes result(mine.size() * bytes_of(type));
                  const Bytes input = elements(type, mine);
                  expect_success(rank.all_reduce(input.data(), result.data(), mine.size(), type, op), "call");
                  const std::vector<double> right =
                      op == rondeMin ? std::vector<double>{1, 1, kNaN, -6, 0} : std::vector<double>{4, 4, kNaN, 0, 1.5};
                  for (size_t i = 0; i < right.size(); ++i) {
                    const double got = get(type, result.data(), i);
                    expect(std::isnan(right[i]) ? std::isnan(got) : got == right[i],
                           name_of(type) + " " + name_of(op) + ", NaN on rank " + std::to_string(place) + ": element " +
                               std::to_string(i) + " is " + std::to_string(got));
                  }
                  rank.must_be_equal_everywhere(result.data(), result.size());
                }
              }
            }
          }) == "");
  }
}

}  // namespace ronde::cases
