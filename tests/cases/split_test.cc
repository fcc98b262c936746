// Communicators out of communicators: rows and columns, nested, beside what is queued, in groups and in the background.
#include <catch2/catch.hpp>
#include <chrono>
#include <string>
#include <vector>

#include "cases/support/children.h"
#include "cases/support/ranks.h"

namespace ronde::cases {
namespace {

constexpr int kColumns = 3;
constexpr int kRows = 4;

OwnedComm split(rondeComm_t comm, int color, int key, rondeConfig_t* config = nullptr) {
  OwnedComm made;
  expect_success(rondeCommSplit(comm, color, key, &made, config), "rondeCommSplit");
  return made;
}

}  // namespace

TEST_CASE("rows and columns of a grid reduce by themselves, beside the whole") {
  for (const Way& way : pairwise_ways()) {
    CHECK(run_ranks({way, kRows * kColumns}, [](Rank& rank) {
            const int row = rank.number() / kColumns;
            const int column = rank.number() % kColumns;
            const OwnedComm of_row = split(rank.comm(), row, column);
            const OwnedComm of_column = split(rank.comm(), column, row);
            expect_place(of_row, column, kColumns, "row");
            expect_place(of_column, row, kRows, "column");
            for (int round = 0; round < 2; ++round) {
              expect_sums(of_row, "row");
              expect_sums(rank.comm(), "all");
              expect_sums(of_column, "column");
            }
          }) == "");
  }
}

TEST_CASE("both are made in one group, and one thread that has several ranks makes theirs in one") {
  CHECK(run_ranks({{"processes"}, 4}, [](Rank& rank) {
          OwnedComm pair;
          OwnedComm all;
          expect_success(rondeGroupStart(), "rondeGroupStart");
          expect_success(rondeCommSplit(rank.comm(), rank.number() / 2, 0, &pair, nullptr), "rondeCommSplit");
          expect_success(rondeCommDup(rank.comm(), &all, nullptr), "rondeCommDup");
          expect(rondeCommDestroy(rank.comm()) == rondeInvalidUsage, "what the group splits could be destroyed");
          expect(pair == nullptr && all == nullptr, "written before the end of the group");
          expect_success(rondeGroupEnd(), "rondeGroupEnd");
          expect_place(pair, rank.number() % 2, 2, "pair");
          expect_place(all, rank.number(), 4, "all");
          expect_sums(pair, "pair");
          expect_sums(all, "all");
        }) == "");
}

TEST_CASE("keys give the order, equal ones that of before; without a color there is none; a rank may be alone") {
  CHECK(run_ranks({{"threads", true}, 7}, [](Rank& rank) {
          const int number = rank.number();
          // 0 1 2 backwards; 3 and 4 as they are; 5 alone; 6 in none.
          const int colors[] = {7, 7, 7, 0, 0, 2'000'000'000, RONDE_SPLIT_NOCOLOR};
          const int keys[] = {2, 1, -5, 9, 9, 0, 0};
          OwnedComm made = split(rank.comm(), colors[number], keys[number]);
          if (number == 6) {
            expect(made == nullptr, "a communicator without a color");
          } else {
            const int ranks[] = {2, 1, 0, 0, 1, 0};
            const int sizes[] = {3, 3, 3, 2, 2, 1};
            expect_place(made, ranks[number], sizes[number], "part");
            expect_sums(made, "part");
          }
          expect_sums(rank.comm(), "all");
        }) == "");
}

TEST_CASE("a part is split again, and outlives what it comes from") {
  for (const Way& way : pairwise_ways()) {
    CHECK(run_ranks({way, 8}, [](Rank& rank) {
            OwnedComm parent;
            expect_success(rondeCommDup(rank.comm(), &parent, nullptr), "rondeCommDup");
            OwnedComm half = split(parent, rank.number() / 4, rank.number());
            parent.destroy();
            OwnedComm quarter = split(half, rank.number() % 4 / 2, -rank.number());
            half.destroy();
            expect_place(quarter, 1 - rank.number() % 2, 2, "quarter");
            expect_sums(quarter, "quarter");
            expect_sums(rank.comm(), "all");
          }) == "");
  }
}

TEST_CASE("a split takes its place among what is queued on streams") {
  for (const bool blocking : {true, false}) {
    CHECK(run_ranks({{blocking ? "blocking" : "non-blocking", true}, 4}, [blocking](Rank& rank) {
            constexpr int kQueued = 50;
            rondeStream_t stream = nullptr;
            expect_success(rondeStreamCreate(&stream), "rondeStreamCreate");
            std::vector<float> values(2 * kQueued * 1'000, 1);
            const auto queue = [&](int from) {
              for (int i = from; i < from + kQueued; ++i) {
                float* at = values.data() + i * 1'000;
                expect_success(rondeAllReduce(at, at, 1'000, rondeFloat32, rondeSum, rank.comm(), stream), "queued");
              }
            };
            rondeConfig_t config = RONDE_CONFIG_INITIALIZER;
            config.blocking = blocking ? 1 : 0;
            queue(0);
            OwnedComm pair;
            const rondeResult_t made = rondeCommSplit(rank.comm(), rank.number() % 2, 0, &pair, &config);
            expect(made == (blocking ? rondeSuccess : rondeInProgress), "rondeCommSplit");
            queue(kQueued);
            expect_sums(rank.comm(), "beside the split");
            expect(outcome_of_start(pair) == rondeSuccess, "the start");
            expect_sums(pair, "pair");
            expect_success(rondeStreamSynchronize(stream), "rondeStreamSynchronize");
            for (const float value : values) expect(value == 4, "a queued sum is wrong");
            expect_success(rondeStreamDestroy(stream), "rondeStreamDestroy");
          }) == "");
  }
}

TEST_CASE("several splits in the background, also of ranks that get nothing, keep their order") {
  CHECK(run_ranks({{"processes"}, 4}, [](Rank& rank) {
          rondeConfig_t config = RONDE_CONFIG_INITIALIZER;
          config.blocking = 0;
          OwnedComm odd_and_even;
          OwnedComm odd;
          OwnedComm all;
          const bool is_odd = rank.number() % 2 == 1;
          expect(rondeCommSplit(rank.comm(), is_odd ? 1 : 0, 0, &odd_and_even, &config) == rondeInProgress, "first");
          expect(rondeCommSplit(rank.comm(), is_odd ? 0 : RONDE_SPLIT_NOCOLOR, 0, &odd, &config) ==
                     (is_odd ? rondeInProgress : rondeSuccess),
                 "second");
          expect(rondeCommDup(rank.comm(), &all, &config) == rondeInProgress, "third");
          expect_sums(rank.comm(), "beside them");
          expect((odd != nullptr) == is_odd, "a communicator without a color");
          if (is_odd) {
            expect(outcome_of_start(odd) == rondeSuccess, "odd");
            expect_sums(odd, "odd");
          }
          expect(outcome_of_start(all) == rondeSuccess, "all");
          expect(outcome_of_start(odd_and_even) == rondeSuccess, "odd and even");
          expect_sums(all, "all");
          expect_sums(odd_and_even, "odd and even");
        }) == "");
}

TEST_CASE("32 ranks become 8 rows at once") {
  CHECK(run_ranks({{"threads", true}, 32}, [](Rank& rank) {
          const auto begin = std::chrono::steady_clock::now();
          const OwnedComm row = split(rank.comm(), rank.number() / 4, 0);
          const auto took = std::chrono::steady_clock::now() - begin;
          expect(took < std::chrono::seconds(10), "it took longer than 10 s");
          expect_sums(row, "row");
        }) == "");
}

TEST_CASE("settings and name are those of the parent, or those of the config") {
  CHECK(run_ranks({{"threads", true, "tcp"}, 2}, [](Rank& rank) {
          rondeConfig_t config = RONDE_CONFIG_INITIALIZER;
          config.transport = "inproc";
          const auto transport_of = [](rondeComm_t comm) {
            expect_sums(comm, "part");
            rondeTraffic_t traffic[4] = {};
            for (rondeTraffic_t& one : traffic) one.size = sizeof one;
            int number = 0;
            expect_success(rondeCommGetTraffic(comm, traffic, 4, &number), "rondeCommGetTraffic");
            return std::string(traffic[0].transport);
          };
          expect(transport_of(split(rank.comm(), 0, 0)) == "tcp", "not the transport of the parent");
          expect(transport_of(split(rank.comm(), 0, 0, &config)) == "inproc", "not the transport of the config");
        }) == "");
}

}  // namespace ronde::cases
