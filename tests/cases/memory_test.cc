// What a communicator says of its memory is what the kernel says.
#include <catch2/catch.hpp>
#include <cstdint>
#include <fstream>
#include <string>
#include <vector>

#include "cases/support/children.h"
#include "cases/support/ranks.h"

namespace ronde::cases {
namespace {

uint64_t stat_of(rondeComm_t comm, rondeCommMemStat_t stat) {
  uint64_t value = 0;
  expect_success(rondeCommMemStats(comm, stat, &value), "rondeCommMemStats");
  return value;
}

struct Mappings {
  uint64_t bytes = 0;
  uint64_t resident = 0;
};

// The segments that this process has made and can write, by /proc/self/smaps.
Mappings own_segments() {
  std::ifstream smaps("/proc/self/smaps");
  Mappings all;
  bool own = false;
  for (std::string line; std::getline(smaps, line);) {
    const bool is_head = line.find(':') > line.find('-') && line.find(" kB") == std::string::npos;
    if (is_head)
      own = line.find("/memfd:ronde (deleted)") != std::string::npos && line.find(" rw-s ") != std::string::npos;
    if (!own) continue;
    const auto kib = [&line] { return std::stoull(line.substr(line.find(':') + 1)) * 1024; };
    if (line.starts_with("Size:")) all.bytes += kib();
    if (line.starts_with("Rss:")) all.resident += kib();
  }
  return all;
}

void expect_equal(uint64_t told, uint64_t found, const std::string& what) {
  expect(told == found, what + ": told " + std::to_string(told) + ", found " + std::to_string(found));
}

}  // namespace

TEST_CASE("of a segment it tells the size and the pages that are in memory") {
  CHECK(run_ranks({{"shm", false, "shm"}, 3}, [](Rank& rank) {
          const auto check = [&rank] {
            const Mappings found = own_segments();
            expect_equal(stat_of(rank.comm(), rondeStatHostMemSegment), found.bytes, "the segment");
            expect_equal(stat_of(rank.comm(), rondeStatHostMemTouched), found.resident, "what is in memory");
            return found.resident;
          };
          expect_success(rondeBarrier(rank.comm(), nullptr), "rondeBarrier");
          const uint64_t before = check();
          std::vector<float> values(1 << 20);
          expect_success(rank.all_reduce(values.data(), values.data(), values.size(), rondeFloat32, rondeSum), "sums");
          expect(check() > before, "nothing was touched");
          const uint64_t process = stat_of(rank.comm(), rondeStatProcessSharedMem);
          expect(process >= stat_of(rank.comm(), rondeStatHostMemSegment),
                 "less in the process than in one of its own");
          OwnedComm other;
          expect_success(rondeCommDup(rank.comm(), &other, nullptr), "rondeCommDup");
          expect_equal(stat_of(other, rondeStatProcessSharedMem), 2 * process, "the process with two communicators");
          other.destroy();
          expect_equal(stat_of(rank.comm(), rondeStatProcessSharedMem), process, "the process with one again");
        }) == "");
}

TEST_CASE("wires have buffers, and small calls of a group a room in which they are put together") {
  CHECK(run_ranks({{"tcp", false, "tcp", "ring"}, 3}, [](Rank& rank) {
          const uint64_t ring = stat_of(rank.comm(), rondeStatHostMemWires);
          expect(ring > 0, "no buffers of the ring");
          float value = 1;
          const int peer = rank.number() == 0 ? 1 : 0;
          expect_success(rondeGroupStart(), "rondeGroupStart");
          if (rank.number() != 2) {
            float got = 0;
            expect_success(rondeSend(&value, 1, rondeFloat32, peer, rank.comm(), nullptr), "rondeSend");
            expect_success(rondeRecv(&got, 1, rondeFloat32, peer, rank.comm(), nullptr), "rondeRecv");
            expect_success(rondeGroupEnd(), "rondeGroupEnd");
            expect(stat_of(rank.comm(), rondeStatHostMemWires) > ring, "no buffers of the pair");
          } else {
            expect_success(rondeGroupEnd(), "rondeGroupEnd");
          }
          float values[2] = {1, 1};
          expect_equal(stat_of(rank.comm(), rondeStatHostMemPacking), 0, "packing before");
          expect_success(rondeGroupStart(), "rondeGroupStart");
          for (float& one : values)
            expect_success(rondeAllReduce(&one, &one, 1, rondeFloat32, rondeSum, rank.comm(), nullptr), "in a group");
          expect_success(rondeGroupEnd(), "rondeGroupEnd");
          expect_equal(stat_of(rank.comm(), rondeStatHostMemPacking), sizeof values, "packing after");
        }) == "");
}

}  // namespace ronde::cases
