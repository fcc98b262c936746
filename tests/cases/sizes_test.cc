// Situations 4 to 6: few elements, none, and any number of ranks.
#include <algorithm>
#include <catch2/catch.hpp>
#include <chrono>
#include <cmath>
#include <string>
#include <vector>

#include "cases/support/elements.h"
#include "cases/support/ranks.h"
#include "support/sanitizers.h"

namespace ronde::cases {
namespace {

using Bytes = std::vector<unsigned char>;

// Small enough that the result of each reduction fits each type, two-bit mantissas included.
double small_value(rondeRedOp_t op, int rank, size_t index) {
  const size_t mixed = index * 2654435761u + static_cast<size_t>(rank) * 40503u + index * static_cast<size_t>(rank);
  if (op == rondeProd) return mixed % 5 == 0 ? 2 : 1;
  if (op == rondeSum || op == rondeAvg) return static_cast<double>(mixed >> 3 & 1);
  return static_cast<double>(mixed >> 4 & 3);
}

// The greatest error that ronde.h allows for a float average of n inputs that are 0 or 1, when 1/n is no float.
double tolerance(rondeDataType_t type, rondeRedOp_t op, int nranks) {
  if (op != rondeAvg || !is_float(type) || (nranks & (nranks - 1)) == 0) return 0;
  static constexpr double kUnit[rondeNumTypes] = {0, 0, 0, 0, 0, 0, 0x1p-11, 0x1p-24, 0x1p-53, 0x1p-8, 0x1p-4, 0x1p-3};
  return (nranks + 1) * kUnit[type];
}

void expect_right(Rank& rank, size_t count, rondeDataType_t type, rondeRedOp_t op, const Bytes& result) {
  std::vector<double> inputs(static_cast<size_t>(rank.nranks()));
  for (size_t i = 0; i < count; ++i) {
    for (int other = 0; other < rank.nranks(); ++other) inputs[static_cast<size_t>(other)] = small_value(op, other, i);
    const double right = reduced(type, op, inputs);
    const double got = get(type, result.data(), i);
    if (std::fabs(got - right) <= tolerance(type, op, rank.nranks())) continue;
    throw Unexpected(std::to_string(count) + " " + name_of(type) + " " + name_of(op) + ": element " +
                     std::to_string(i) + " is " + std::to_string(got) + ", not " + std::to_string(right));
  }
  expect(std::count(result.begin() + static_cast<std::ptrdiff_t>(count * bytes_of(type)), result.end(), 0xee) == 16,
         "bytes after the result were written");
}

// One allreduce, out of place or in place, and its check. Returns the seconds that the call took.
double reduce_and_check(Rank& rank, size_t count, rondeDataType_t type, rondeRedOp_t op, bool in_place) {
  Bytes input(count * bytes_of(type) + 16, 0xee);
  for (size_t i = 0; i < count; ++i) put(type, input.data(), i, small_value(op, rank.number(), i));
  Bytes apart(in_place ? 0 : input.size(), 0xee);
  Bytes& result = in_place ? input : apart;
  const auto begin = std::chrono::steady_clock::now();
  expect_success(rank.all_reduce(input.data(), result.data(), count, type, op), "rondeAllReduce");
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  rank.must_be_equal_everywhere(result.data(), result.size());
  // Of much data one rank checks all; the others have the same bits, or the world fails.
  if (count < 100'000 || rank.number() == 0) expect_right(rank, count, type, op, result);
  return took.count();
}

}  // namespace

namespace {

// All types and reductions with each count, or, where a path was seen as a whole, each of them with one count in turn.
void fewer_elements_than_ranks(const Way& way, bool all_counts) {
  CHECK(run_ranks({way, 8}, [all_counts](Rank& rank) {
          size_t number = 0;
          for (const rondeDataType_t type : all_types()) {
            for (const rondeRedOp_t op : all_ops()) {
              for (size_t count = 1; count <= 7; ++count) {
                if (!all_counts && count != 1 + number % 7) continue;
                expect(reduce_and_check(rank, count, type, op, number % 2 == 0) < 1,
                       std::to_string(count) + " elements took 1 s or more");
              }
              ++number;
            }
          }
        }) == "");
}

}  // namespace

TEST_CASE("case_04_fewer_elements_than_ranks_everywhere") {
  for (const Way& way : all_paths()) fewer_elements_than_ranks(way, false);
}

TEST_CASE("case_04_fewer_elements_than_ranks_shm") { fewer_elements_than_ranks({"shm", false, "shm"}, true); }

TEST_CASE("case_04_fewer_elements_than_ranks_inproc_ring") {
  fewer_elements_than_ranks({"inproc, ring, stream", true, "inproc", "ring", true}, true);
}

TEST_CASE("case_04_fewer_elements_than_ranks_tcp") { fewer_elements_than_ranks({"tcp", false, "tcp"}, true); }

TEST_CASE("case_05_nothing_to_send") {
  for (const Way& way : all_paths()) {
    CHECK(run_ranks({way, 4}, [](Rank& rank) {
            for (int round = 0; round < 3; ++round) {
              expect_success(rank.all_reduce(nullptr, nullptr, 0, rondeFloat32, rondeSum), "count 0");
              reduce_and_check(rank, 5, rondeFloat32, rondeSum, round == 1);
            }
            float untouched = 7;
            expect_success(rank.all_reduce(&untouched, &untouched, 0, rondeFloat32, rondeSum),
                           "count 0 with a pointer");
            expect(untouched == 7, "count 0 wrote something");
          }) == "");
  }
}

namespace {

// What a sanitizer sees is the same with few and with many.
const std::vector<int>& numbers_of_ranks() {
  static const std::vector<int> numbers =
      testing::kSanitizer ? std::vector<int>{3, 12} : std::vector<int>{3, 5, 6, 7, 12};
  return numbers;
}

void any_number_of_ranks(const Way& way, int nranks) {
  CHECK(
      run_ranks({way, nranks}, [](Rank& rank) {
        const auto n = static_cast<size_t>(rank.nranks());
        static constexpr rondeDataType_t kTypes[] = {rondeUint8, rondeInt32, rondeFloat32, rondeFloat64, rondeBfloat16};
        size_t number = 0;
        for (const size_t count : {size_t{1}, n - 1, n, n + 1, size_t{1000}}) {
          for (const rondeRedOp_t op : all_ops()) {
            for (size_t i = 0; i < 2; ++i, ++number) reduce_and_check(rank, count, kTypes[number % 5], op, i == 0);
            ++number;
          }
        }
        for (const rondeRedOp_t op : all_ops()) {
          reduce_and_check(rank, (size_t{1} << 20) + 3, op == rondeAvg ? rondeInt32 : rondeFloat32, op,
                           ++number % 2 == 0);
        }
      }) == "");
}

}  // namespace

TEST_CASE("case_06_any_number_of_ranks_inproc") {
  for (const int nranks : numbers_of_ranks()) {
    any_number_of_ranks({"inproc", true, "inproc", nranks % 2 == 0 ? "auto" : "ring", nranks > 5}, nranks);
  }
}

TEST_CASE("case_06_any_number_of_ranks_shm") {
  for (const int nranks : numbers_of_ranks()) {
    any_number_of_ranks({"shm", false, "shm", nranks % 2 == 0 ? "ring" : "auto", nranks < 6}, nranks);
  }
}

TEST_CASE("case_06_any_number_of_ranks_tcp") {
  for (const int nranks : numbers_of_ranks()) any_number_of_ranks({"tcp", false, "tcp", "auto", nranks == 6}, nranks);
  for (const int nranks : {3, 6}) any_number_of_ranks({"tcp, star", false, "tcp", "star", nranks == 3}, nranks);
}

}  // namespace ronde::cases
