// What only hostile or confused callers pass: refused, and nothing is read or written.
#include <array>
#include <catch2/catch.hpp>
#include <cstdint>
#include <string>
#include <vector>

#include "cases/support/ranks.h"

namespace ronde::cases {
namespace {

void expect_refused(rondeResult_t result, const std::string& part) {
  const std::string text = rondeGetLastError(nullptr);
  expect(result == rondeInvalidArgument, std::string("not refused: ") + rondeGetErrorString(result));
  expect(text.find(part) != std::string::npos, "no '" + part + "' in: " + text);
}

World one_rank() { return {{"inproc", true, "inproc"}, 1}; }

}  // namespace

// CUDA's numbers for the default streams, and whatever else is no address.
TEST_CASE("small numbers are no handles") {
  CHECK(run_ranks(one_rank(), [](Rank& rank) {
          float value = 1;
          for (const uintptr_t number : {1, 2, 7, 4095}) {
            const auto stream = reinterpret_cast<rondeStream_t>(number);
            const auto window = reinterpret_cast<rondeWindow_t>(number);
            const void* pointer = nullptr;
            int nranks = 0;
            expect_refused(rondeAllReduce(&value, &value, 1, rondeFloat32, rondeSum, rank.comm(), stream), "stream");
            expect_refused(rondeStreamSynchronize(stream), "stream");
            expect_refused(rondeEventQuery(reinterpret_cast<rondeEvent_t>(number)), "event");
            expect_refused(rondeCommCount(reinterpret_cast<rondeComm_t>(number), &nranks), "comm");
            expect_refused(rondeGetPeerPointer(window, 0, 0, &pointer), "window");
          }
        }) == "");
}

TEST_CASE("blocks of a send buffer that are more than memory can hold in all") {
  CHECK(run_ranks({{"inproc", true, "inproc"}, 3}, [](Rank& rank) {
          const std::array<size_t, 3> counts = {SIZE_MAX / 2, SIZE_MAX / 2, 2};
          const std::array<size_t, 3> places = {0, 0, 0};
          std::vector<unsigned char> bytes(64);
          expect_refused(rondeReduceScatterV(bytes.data(), bytes.data(), counts.data(), places.data(), rondeUint8,
                                             rondeSum, rank.comm(), nullptr),
                         "more than memory can hold");
        }) == "");
}

TEST_CASE("a reduce-scatter in place does not write over the input of others") {
  CHECK(run_ranks({{"inproc", true, "inproc"}, 2}, [](Rank& rank) {
          const std::array<size_t, 2> counts = {200, 200};
          const std::array<size_t, 2> places = {0, 50};
          std::vector<int> values(250, 1);
          std::vector<int> apart(200);
          int* own = values.data() + places[static_cast<size_t>(rank.number())];
          expect_refused(rondeReduceScatterV(values.data(), own, counts.data(), places.data(), rondeInt32, rondeSum,
                                             rank.comm(), nullptr),
                         "in place");
          expect_success(rondeReduceScatterV(values.data(), apart.data(), counts.data(), places.data(), rondeInt32,
                                             rondeSum, rank.comm(), nullptr),
                         "apart");
          expect(apart == std::vector<int>(200, 2), "a wrong sum");
        }) == "");
}

TEST_CASE("more than rondeMemAlloc gave is not registered") {
  CHECK(run_ranks(one_rank(), [](Rank& rank) {
          void* memory = nullptr;
          void* handle = nullptr;
          rondeWindow_t window = nullptr;
          expect_success(rondeMemAlloc(&memory, 10'000), "rondeMemAlloc");
          for (const size_t size : {size_t{20'000}, size_t{1} << 30, SIZE_MAX}) {
            expect_refused(rondeCommRegister(rank.comm(), memory, size, &handle), "rondeMemAlloc gave out");
            expect_refused(rondeCommWindowRegister(rank.comm(), memory, size, &window, RONDE_WIN_DEFAULT),
                           "rondeMemAlloc gave out");
          }
          expect_success(rondeCommRegister(rank.comm(), memory, 10'000, &handle), "all of it");
          expect(rondeMemFree(memory) == rondeInvalidUsage, "what is registered can be freed");
          expect_success(rondeCommDeregister(rank.comm(), handle), "rondeCommDeregister");
          expect_success(rondeMemFree(memory), "rondeMemFree");
        }) == "");
}

TEST_CASE("reductions of ranks that differ in being commutative are told apart") {
  for (const Way& way : {Way{"shm", false, "shm"}, Way{"tcp", false, "tcp"}}) {
    CHECK(run_ranks({way, 2}, [](Rank& rank) {
            const auto nothing = [](const void*, const void*, void*, size_t, rondeDataType_t, void*) {};
            rondeRedOp_t op{};
            float value = 1;
            expect_success(rondeRedOpCreate(&op, nothing, rank.number(), nullptr, rank.comm()), "rondeRedOpCreate");
            const rondeResult_t result = rank.all_reduce(&value, &value, 1, rondeFloat32, op);
            const std::string text = rondeGetLastError(rank.comm());
            expect(result == rondeMismatch, std::string("not a mismatch: ") + rondeGetErrorString(result));
            expect(text.find("user_defined, not commutative") != std::string::npos, text);
          }) == "");
  }
}

}  // namespace ronde::cases
