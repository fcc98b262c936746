// Many ranks: a thousand of them as threads of one process start, add up, and leave nothing behind.
#include <ronde/ronde.h>

#include <catch2/catch.hpp>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <vector>

namespace {

void expect(rondeResult_t result) {
  INFO(rondeGetLastError(nullptr));
  REQUIRE(result == rondeSuccess);
}

}  // namespace

TEST_CASE("1,024 ranks of one process, over memory and over tcp") {
  const char* const transport = GENERATE("inproc", "tcp");
  constexpr int kRanks = 1024;
  REQUIRE(setenv("RONDE_TRANSPORT", transport, 1) == 0);
  REQUIRE(setenv("RONDE_SHM_LIMIT", "17179869184", 1) == 0);
  REQUIRE(setenv("RONDE_SOCKET_IFNAME", "lo", 1) == 0);
  const auto start = std::chrono::steady_clock::now();
  rondeUniqueId id;
  expect(rondeGetUniqueId(&id));
  std::vector<rondeComm_t> comms(kRanks, nullptr);
  expect(rondeGroupStart());
  for (int rank = 0; rank < kRanks; ++rank)
    expect(rondeCommInitRank(&comms[static_cast<size_t>(rank)], kRanks, id, rank));
  expect(rondeGroupEnd());
  std::printf("%s: %d ranks have started after %.2f s\n", transport, kRanks,
              std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  std::vector<int> values(kRanks);
  for (int rank = 0; rank < kRanks; ++rank) values[static_cast<size_t>(rank)] = rank;
  expect(rondeGroupStart());
  for (int rank = 0; rank < kRanks; ++rank) {
    int* const value = &values[static_cast<size_t>(rank)];
    expect(rondeAllReduce(value, value, 1, rondeInt32, rondeSum, comms[static_cast<size_t>(rank)], nullptr));
  }
  expect(rondeGroupEnd());
  for (const int value : values) REQUIRE(value == kRanks * (kRanks - 1) / 2);
  for (rondeComm_t comm : comms) expect(rondeCommDestroy(comm));
}
