// Situation 7: more than 2^31 elements, more than 2^32 bytes. Needs much memory and some time.
#include <sys/mman.h>

#include <catch2/catch.hpp>
#include <cstring>
#include <fstream>
#include <string>

#include "cases/support/elements.h"
#include "cases/support/ranks.h"
#include "support/skip.h"

namespace ronde::cases {
namespace {

constexpr size_t kGiB = size_t{1} << 30;

size_t available_bytes() {
  std::ifstream file("/proc/meminfo");
  std::string name;
  size_t kib = 0;
  while (file >> name >> kib) {
    if (name == "MemAvailable:") return kib << 10;
    std::getline(file, name);
  }
  return 0;
}

void need_memory(size_t bytes) {
  if (available_bytes() >= bytes) return;
  testing::skip("needs " + std::to_string(bytes / kGiB) + " GiB of available memory, there are " +
                std::to_string(available_bytes() >> 20) + " MiB");
}

class LargeBuffer {
 public:
  explicit LargeBuffer(size_t bytes) : bytes_(bytes) {
    memory_ = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    expect(memory_ != MAP_FAILED, "mmap of " + std::to_string(bytes) + " bytes failed");
    madvise(memory_, bytes, MADV_HUGEPAGE);
  }
  ~LargeBuffer() { munmap(memory_, bytes_); }
  LargeBuffer(const LargeBuffer&) = delete;
  LargeBuffer& operator=(const LargeBuffer&) = delete;
  template <typename T>
  T* as() {
    return static_cast<T*>(memory_);
  }

 private:
  void* memory_;
  size_t bytes_;
};

// Differs in every 2^31, 2^32 and at every odd place, so that a part put elsewhere is seen. Exact in float32, and a sum
// of two wraps in uint8.
uint32_t value_at(size_t index, int rank) {
  const uint64_t mixed = (index + 0x9e37 * static_cast<uint64_t>(rank + 1)) * 0x9e3779b97f4a7c15ull;
  return static_cast<uint32_t>(mixed >> 56);
}

template <typename T>
void large_sum(Rank& rank, size_t count, rondeDataType_t type) {
  LargeBuffer buffer(count * sizeof(T));
  T* elements = buffer.as<T>();
  for (size_t i = 0; i < count; ++i) elements[i] = static_cast<T>(value_at(i, rank.number()));
  expect_success(rank.all_reduce(elements, elements, count, type, rondeSum), "rondeAllReduce");
  for (size_t i = 0; i < count; ++i) {
    const auto right = static_cast<T>(value_at(i, 0) + value_at(i, 1));
    if (elements[i] != right) throw Unexpected("element " + std::to_string(i) + " is wrong");
  }
}

// One byte each; whole is the sum of all blocks where there are blocks, of which a rank's own is the one of its number.
constexpr size_t kWhole = (size_t{1} << 31) + 6;
constexpr size_t kBlock = kWhole / 2;

uint8_t byte_at(size_t index, int rank) { return static_cast<uint8_t>(value_at(index, rank)); }

// Fills a buffer with this rank's values, calls, and expects the bytes that right(index) says.
template <typename Call, typename Right>
void large_move(Rank& rank, const Call& call, const Right& right) {
  LargeBuffer buffer(kWhole);
  auto* bytes = buffer.as<uint8_t>();
  for (size_t i = 0; i < kWhole; ++i) bytes[i] = byte_at(i, rank.number());
  expect_success(call(bytes), "the call");
  for (size_t i = 0; i < kWhole; ++i) {
    if (bytes[i] != right(i)) throw Unexpected("element " + std::to_string(i) + " is wrong");
  }
}

void large_broadcast(Rank& rank) {
  large_move(
      rank, [&](uint8_t* bytes) { return rondeBcast(bytes, kWhole, rondeUint8, 1, rank.comm(), nullptr); },
      [](size_t i) { return byte_at(i, 1); });
}

void large_message(Rank& rank) {
  large_move(
      rank,
      [&](uint8_t* bytes) {
        return rank.number() == 0 ? rondeSend(bytes, kWhole, rondeUint8, 1, rank.comm(), nullptr)
                                  : rondeRecv(bytes, kWhole, rondeUint8, 0, rank.comm(), nullptr);
      },
      [](size_t i) { return byte_at(i, 0); });
}

void large_reduce_scatter(Rank& rank) {
  const auto own = static_cast<size_t>(rank.number());
  large_move(
      rank,
      [&](uint8_t* bytes) {
        return rondeReduceScatter(bytes, bytes + own * kBlock, kBlock, rondeUint8, rondeSum, rank.comm(), nullptr);
      },
      [&](size_t i) {
        return i / kBlock == own ? static_cast<uint8_t>(byte_at(i, 0) + byte_at(i, 1)) : byte_at(i, rank.number());
      });
}

void large_all_gather(Rank& rank) {
  const auto own = static_cast<size_t>(rank.number());
  large_move(
      rank,
      [&](uint8_t* bytes) {
        return rondeAllGather(bytes + own * kBlock, bytes, kBlock, rondeUint8, rank.comm(), nullptr);
      },
      [](size_t i) { return byte_at(i, static_cast<int>(i / kBlock)); });
}

void over_shm_and_tcp(const Body& body) {
  need_memory(6 * kGiB);
  for (const std::string transport : {"shm", "tcp"})
    CHECK(run_ranks({{transport, false, transport}, 2, {}, 300}, body) == "");
}

}  // namespace

TEST_CASE("case_07_more_than_2_31_elements") {
  need_memory(6 * kGiB);
  for (const Way& way : {Way{"shm", false, "shm"}, Way{"inproc, ring, stream", true, "inproc", "ring", true}}) {
    CHECK(run_ranks({way, 2, {}, 300},
                    [](Rank& rank) { large_sum<uint8_t>(rank, (size_t{1} << 31) + 5, rondeUint8); }) == "");
  }
}

TEST_CASE("case_07_more_than_2_31_elements_tcp") {
  need_memory(6 * kGiB);
  CHECK(run_ranks({{"tcp", false, "tcp"}, 2, {}, 300},
                  [](Rank& rank) { large_sum<uint8_t>(rank, (size_t{1} << 31) + 5, rondeUint8); }) == "");
}

TEST_CASE("case_07_more_than_2_32_bytes") {
  need_memory(10 * kGiB);
  CHECK(run_ranks({{"shm", false, "shm"}, 2, {}, 300},
                  [](Rank& rank) { large_sum<float>(rank, (size_t{1} << 30) + 3, rondeFloat32); }) == "");
}

TEST_CASE("case_07_more_than_2_31_elements_broadcast") { over_shm_and_tcp(large_broadcast); }
TEST_CASE("case_07_more_than_2_31_elements_sent") { over_shm_and_tcp(large_message); }
TEST_CASE("case_07_more_than_2_31_elements_reduce_scatter") { over_shm_and_tcp(large_reduce_scatter); }
TEST_CASE("case_07_more_than_2_31_elements_all_gather") { over_shm_and_tcp(large_all_gather); }

}  // namespace ronde::cases
