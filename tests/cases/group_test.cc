// Groups: what travels together keeps what it was called with, and what can never end is refused.
#include <sys/resource.h>

#include <array>
#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "cases/support/ranks.h"

namespace ronde::cases {
namespace {

constexpr size_t kCount = 10;

rondeRedOp_t multiplied_by(float factor, rondeComm_t comm) {
  rondeRedOp_t op{};
  expect_success(rondeRedOpCreatePreMulSum(&op, &factor, rondeFloat32, rondeScalarHostImmediate, comm), "PreMulSum");
  return op;
}

void subtract(const void* left, const void* right, void* result, size_t count, rondeDataType_t, void*) {
  for (size_t i = 0; i < count; ++i) {
    static_cast<float*>(result)[i] = static_cast<const float*>(left)[i] - static_cast<const float*>(right)[i];
  }
}

}  // namespace

// All of them small and of one type: only the reduction tells them apart. Rank 1 gives equal factors by one handle.
TEST_CASE("all-reduces of a group keep their own reductions") {
  for (const Way& way : all_paths()) {
    INFO(way.name);
    CHECK(run_ranks({way, 2}, [](Rank& rank) {
            const float first = rank.number() == 0 ? 2 : 5;
            const float second = rank.number() == 0 ? 3 : 5;
            const rondeRedOp_t one = multiplied_by(first, rank.comm());
            const rondeRedOp_t other = first == second ? one : multiplied_by(second, rank.comm());
            rondeRedOp_t difference{};
            expect_success(rondeRedOpCreate(&difference, subtract, 0, nullptr, rank.comm()), "user-defined");
            const std::array<rondeRedOp_t, 5> ops = {one, other, rondeSum, difference, rondeMax};
            const std::array<float, 5> wanted = {2 * 1 + 5 * 4, 3 * 1 + 5 * 4, 5, -3, 4};
            std::vector<std::vector<float>> values(ops.size(), std::vector<float>(kCount, rank.number() == 0 ? 1 : 4));
            expect_success(rondeGroupStart(), "the group");
            for (size_t i = 0; i < ops.size(); ++i) {
              expect_success(rondeAllReduce(values[i].data(), values[i].data(), kCount, rondeFloat32, ops[i],
                                            rank.comm(), nullptr),
                             "the call");
            }
            expect_success(rondeGroupEnd(), "the end of the group");
            for (size_t i = 0; i < ops.size(); ++i) {
              expect(values[i] == std::vector<float>(kCount, wanted[i]),
                     "call " + std::to_string(i) + " gives " + std::to_string(values[i][0]));
            }
          }) == "");
  }
}

TEST_CASE("a group that differs between ranks is told as a group") {
  CHECK(
      run_ranks({{"shm", false, "shm"}, 2}, [](Rank& rank) {
        float values[2] = {1, 1};
        rondeResult_t result = rondeSuccess;
        if (rank.number() == 0) expect_success(rondeGroupStart(), "the group");
        for (float& value : values) {
          const rondeResult_t called = rondeAllReduce(&value, &value, 1, rondeFloat32, rondeSum, rank.comm(), nullptr);
          if (result == rondeSuccess) result = called;
        }
        if (rank.number() == 0) result = rondeGroupEnd();
        expect(result == rondeMismatch, std::string("not a mismatch: ") + rondeGetErrorString(result));
        const std::string text = rondeGetLastError(rank.comm());
        expect(text.find("rank 0: a group of AllReduce (float32, sum, 2 elements in all); rank 1: AllReduce (float32, "
                         "sum, 1 element)") != std::string::npos,
               "the group is not named: " + text);
      }) == "");
}

TEST_CASE("ranks that would wait for each other on one stream are refused") {
  CHECK(run_ranks({{"inproc", true, "inproc"}, 1}, [](Rank&) {
          rondeComm_t comms[2] = {};
          rondeStream_t streams[2] = {};
          float values[2] = {1, 2};
          expect_success(rondeCommInitAll(comms, 2, nullptr), "init");
          for (rondeStream_t& stream : streams) expect_success(rondeStreamCreate(&stream), "a stream");
          const auto group_on = [&](rondeStream_t first, rondeStream_t second) {
            expect_success(rondeGroupStart(), "the group");
            const rondeStream_t given[2] = {first, second};
            for (int i = 0; i < 2; ++i) {
              expect_success(rondeAllReduce(&values[i], &values[i], 1, rondeFloat32, rondeSum, comms[i], given[i]),
                             "the call");
            }
            return rondeGroupEnd();
          };
          expect(group_on(streams[0], streams[0]) == rondeInvalidUsage, "two ranks on one stream are not refused");
          const std::string text = rondeGetLastError(nullptr);
          expect(text.find("ranks 0 and 1 of one communicator are on the same stream") != std::string::npos, text);
          expect_success(group_on(streams[0], streams[1]), "each on a stream of its own");
          for (rondeStream_t stream : streams) expect_success(rondeStreamSynchronize(stream), "the stream");
          expect(values[0] == 3 && values[1] == 3, "the sum is wrong");
          for (rondeComm_t comm : comms) expect_success(rondeCommDestroy(comm), "destroy");
          for (rondeStream_t stream : streams) expect_success(rondeStreamDestroy(stream), "destroy");
        }) == "");
}

TEST_CASE("a communicator that is not ready is no call of a group that could be left out") {
  CHECK(
      run_ranks({{"inproc", true, "inproc"}, 1}, [](Rank& rank) {
        rondeUniqueId id;
        rondeComm_t starting = nullptr;
        rondeConfig_t config = RONDE_CONFIG_INITIALIZER;
        config.blocking = 0;
        expect_success(rondeGetUniqueId(&id), "rondeGetUniqueId");
        expect(rondeCommInitRankConfig(&starting, 2, id, 0, &config) == rondeInProgress, "it is ready at once");
        float values[2] = {1, 2};
        expect_success(rondeGroupStart(), "the group");
        expect_success(rondeAllReduce(&values[0], &values[0], 1, rondeFloat32, rondeAvg, rank.comm(), nullptr), "one");
        expect(
            rondeAllReduce(&values[1], &values[1], 1, rondeFloat32, rondeSum, starting, nullptr) == rondeInvalidUsage,
            "the call on the communicator that is not ready is not refused");
        expect(rondeGroupEnd() == rondeInvalidUsage, "the group is not refused");
        const std::string text = rondeGetLastError(nullptr);
        expect(text.find("nothing of the group is started") != std::string::npos, text);
        expect(rondeAllReduce(&values[1], &values[1], 1, rondeFloat32, rondeSum, starting, nullptr) == rondeInProgress,
               "outside a group it is in progress");
        expect_success(rondeCommDestroy(starting), "destroy");
      }) == "");
}

// The ranks that have their files wait for one that never comes, as it has none.
TEST_CASE("ranks of a group that run out of files end at once") {
  World world{{"inproc", true, "inproc"}, 1};
  world.deadline_s = 40;
  CHECK(run_ranks(world, [](Rank&) {
          constexpr int kRanks = 64;
          rondeUniqueId id;
          expect_success(rondeGetUniqueId(&id), "rondeGetUniqueId");
          const rlimit few{200, 200};
          expect(setrlimit(RLIMIT_NOFILE, &few) == 0, "setrlimit");
          std::vector<rondeComm_t> comms(kRanks);
          expect_success(rondeGroupStart(), "the group");
          for (int i = 0; i < kRanks; ++i) {
            expect_success(rondeCommInitRank(&comms[static_cast<size_t>(i)], kRanks, id, i), "init");
          }
          expect(rondeGroupEnd() == rondeSystemError, std::string("another error: ") + rondeGetLastError(nullptr));
          const std::string text = rondeGetLastError(nullptr);
          expect(text.find("errno 24") != std::string::npos, text);
        }) == "");
}

}  // namespace ronde::cases
