// Memory of rondeMemAlloc through ronde.h, with ranks as processes: operations copy nothing of it, peers read it, a
// limit of addresses is no error, a forked child has it.
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <cstring>
#include <fstream>
#include <string>
#include <vector>

#include "cases/support/ranks.h"
#include "support/sanitizers.h"
#include "support/skip.h"

namespace ronde::cases {
namespace {

constexpr size_t kCount = 300'000;

class Floats {
 public:
  explicit Floats(size_t count) {
    void* memory = nullptr;
    expect_success(rondeMemAlloc(&memory, count * sizeof(float)), "rondeMemAlloc");
    data_ = static_cast<float*>(memory);
  }
  ~Floats() {
    if (data_ != nullptr) rondeMemFree(data_);
  }
  Floats(const Floats&) = delete;
  Floats& operator=(const Floats&) = delete;
  [[nodiscard]] float* data() const { return data_; }

 private:
  float* data_ = nullptr;
};

unsigned long long staged_by(rondeComm_t comm) {
  rondeTraffic_t traffic[3] = {};
  for (rondeTraffic_t& entry : traffic) entry.size = sizeof entry;
  int number = 0;
  expect_success(rondeCommGetTraffic(comm, traffic, 3, &number), "rondeCommGetTraffic");
  unsigned long long staged = 0;
  for (int i = 0; i < number; ++i) staged += traffic[i].stagedBytes;
  return staged;
}

void sum_in_place(Rank& rank, float* values, int round) {
  for (size_t i = 0; i < kCount; ++i) values[i] = static_cast<float>(rank.number() + round);
  expect_success(rank.all_reduce(values, values, kCount, rondeFloat32, rondeSum), "allreduce");
  const int n = rank.nranks();
  for (size_t i = 0; i < kCount; ++i)
    expect(values[i] == static_cast<float>(n * (n - 1) / 2 + n * round), "a wrong sum");
}

World world_of(int nranks, const Way& way) {
  World world;
  world.way = way;
  world.nranks = nranks;
  return world;
}

}  // namespace

TEST_CASE("library memory between processes: sums without a copy, before and after other memory") {
  for (const Way& way : {Way{"shm", false, "shm"}, Way{"shm, stream", false, "auto", "auto", true},
                         Way{"shm, ring", false, "shm", "ring"}, Way{"threads", true, "auto"}}) {
    CHECK(run_ranks(world_of(3, way), [](Rank& rank) {
            const Floats shared(kCount);
            for (int round = 0; round < 20; ++round) sum_in_place(rank, shared.data(), round);
            expect(staged_by(rank.comm()) == 0, "something was copied");
            std::vector<float> ordinary(kCount);
            // Ranks with and without, in turn.
            for (int round = 0; round < 10; ++round)
              sum_in_place(rank, (rank.number() + round) % 2 == 0 ? shared.data() : ordinary.data(), round);
            expect(staged_by(rank.comm()) > 0, "nothing was copied of ordinary memory");
          }) == "");
  }
}

TEST_CASE("library memory goes on in communicators that are made of others") {
  CHECK(run_ranks(world_of(3, {"shm", false, "shm"}), [](Rank& rank) {
          const Floats shared(kCount);
          rondeComm_t part = nullptr;
          expect_success(rondeCommSplit(rank.comm(), rank.number() / 2, 0, &part, nullptr), "split");
          rondeComm_t twin = nullptr;
          expect_success(rondeCommDup(rank.comm(), &twin, nullptr), "dup");
          for (const rondeComm_t comm : {part, twin}) {
            for (size_t i = 0; i < kCount; ++i) shared.data()[i] = 1;
            int n = 0;
            expect_success(rondeCommCount(comm, &n), "count");
            expect_success(rondeAllReduce(shared.data(), shared.data(), kCount, rondeFloat32, rondeSum, comm, nullptr),
                           "allreduce");
            expect(shared.data()[kCount - 1] == static_cast<float>(n), "a wrong sum");
            if (n > 1) expect(staged_by(comm) == 0, "something was copied");
            expect_success(rondeCommDestroy(comm), "destroy");
          }
        }) == "");
}

TEST_CASE("windows: peers of the node read what a rank has written, and nothing once it is freed") {
  CHECK(run_ranks(world_of(3, {"shm", false, "shm"}), [](Rank& rank) {
          const Floats shared(kCount);
          const size_t bytes = kCount * sizeof(float);
          rondeWindow_t window = nullptr;
          expect_success(rondeCommWindowRegister(rank.comm(), shared.data(), bytes, &window, RONDE_WIN_COLL_SYMMETRIC),
                         "window");
          expect(rondeMemFree(shared.data()) == rondeInvalidUsage, "memory of a window was freed");
          for (size_t i = 0; i < kCount; ++i) shared.data()[i] = static_cast<float>(rank.number() + 7);
          expect_success(rondeBarrier(rank.comm(), nullptr), "barrier");
          for (int peer = 0; peer < rank.nranks(); ++peer) {
            const void* there = nullptr;
            expect_success(rondeGetPeerPointer(window, bytes - sizeof(float), peer, &there), "pointer");
            float value = 0;
            std::memcpy(&value, there, sizeof value);
            expect(value == static_cast<float>(peer + 7), "a peer's memory has other values");
          }
          const void* there = nullptr;
          expect(rondeGetPeerPointer(window, bytes, 0, &there) == rondeInvalidArgument, "an offset beyond the end");
          expect(rondeGetPeerPointer(window, 0, 3, &there) == rondeInvalidArgument, "a rank that is none");
          expect_success(rondeGetPeerPointer(window, 0, (rank.number() + 1) % 3, &there), "pointer");
          expect_success(rondeBarrier(rank.comm(), nullptr), "barrier");
          expect_success(rondeCommWindowDeregister(rank.comm(), window), "deregister");
          std::memset(shared.data(), 0, bytes);
          expect_success(rondeBarrier(rank.comm(), nullptr), "barrier");
          expect(*static_cast<const volatile float*>(there) == 0, "stale data");
          expect(rondeCommWindowDeregister(rank.comm(), window) == rondeInvalidArgument, "a window that is gone");
        }) == "");
}

TEST_CASE("registration: any memory, and errors for what is none") {
  CHECK(run_ranks(world_of(2, {"shm", false, "shm"}), [](Rank& rank) {
          const Floats shared(100);
          std::vector<char> ordinary(100);
          void* first = nullptr;
          void* second = nullptr;
          expect_success(rondeCommRegister(rank.comm(), shared.data(), 400, &first), "register");
          expect_success(rondeCommRegister(rank.comm(), ordinary.data(), 100, &second), "register ordinary memory");
          expect(rondeMemFree(shared.data()) == rondeInvalidUsage, "registered memory was freed");
          expect_success(rondeCommDeregister(rank.comm(), first), "deregister");
          expect(rondeCommDeregister(rank.comm(), first) == rondeInvalidArgument, "deregistered twice");
          expect(rondeCommRegister(rank.comm(), nullptr, 4, &first) == rondeInvalidArgument, "NULL");
          expect(rondeCommRegister(rank.comm(), ordinary.data(), 0, &first) == rondeInvalidArgument, "no bytes");
          expect(rondeMemFree(ordinary.data()) == rondeInvalidArgument, "a foreign pointer");
          void* memory = nullptr;
          expect(rondeMemAlloc(&memory, 0) == rondeInvalidArgument, "size 0");
          expect(rondeMemAlloc(nullptr, 8) == rondeInvalidArgument, "NULL");
          expect_success(rondeMemFree(nullptr), "free of NULL");
        }) == "");
}

TEST_CASE("a limit of addresses leaves the program its own, and everything works") {
  if (testing::kSanitizer) testing::skip("sanitizers need all addresses");
  World world = world_of(3, {"shm", false, "shm"});
  world.before = [] {
    const rlimit limit{size_t{1} << 30, size_t{1} << 30};
    expect(setrlimit(RLIMIT_AS, &limit) == 0, "setrlimit");
  };
  CHECK(run_ranks(world, [](Rank& rank) {
          const Floats shared(kCount);
          const Floats beyond(size_t{50} << 20);  // more than an eighth of the limit
          sum_in_place(rank, shared.data(), 1);
          sum_in_place(rank, beyond.data(), 2);
        }) == "");
}

TEST_CASE("a forked child shares library memory, and cannot free it") {
  CHECK(run_ranks(world_of(2, {"shm", false, "shm"}), [](Rank& rank) {
          const Floats shared(kCount);
          shared.data()[0] = 41;
          const pid_t child = fork();
          if (child == 0) {
            shared.data()[0] += 1;
            _exit(rondeMemFree(shared.data()) == rondeInvalidUsage ? 0 : 1);
          }
          int status = -1;
          expect(waitpid(child, &status, 0) == child && status == 0, "the child");
          expect(shared.data()[0] == 42, "the child wrote elsewhere");
          sum_in_place(rank, shared.data(), 3);
          expect(staged_by(rank.comm()) == 0, "something was copied");
        }) == "");
}

// All pages of the whole arena, 1 GiB, would be made at once.
TEST_CASE("a program that locks its memory locks none of the library that nobody uses") {
  if (testing::kSanitizer) testing::skip("the memory of sanitizers is locked, too");
  if (geteuid() != 0) testing::skip("only root locks as much as it likes");
  World world = world_of(2, {"shm", false, "shm"});
  world.settings = {{"RONDE_MEM_LIMIT", std::to_string(1 << 30)}};
  world.before = [] { expect(mlockall(MCL_FUTURE) == 0, "mlockall"); };
  CHECK(run_ranks(world, [](Rank& rank) {
          const Floats shared(kCount);
          sum_in_place(rank, shared.data(), 1);
          long pages = 0;
          long resident = 0;
          std::ifstream("/proc/self/statm") >> pages >> resident;
          expect(resident * 4096 < 500'000'000, std::to_string(resident) + " pages are resident");
        }) == "");
}

}  // namespace ronde::cases
