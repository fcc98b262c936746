// Sends and receives that cannot end: without a group two ranks that both send first wait for each other, for small
// messages as for large ones, and are told so within the warning time; who waits for a rank that has left or died gets
// an error.
#include <ronde/ronde.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <catch2/catch.hpp>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <functional>
#include <new>
#include <string>
#include <thread>
#include <vector>

#include "cases/support/ranks.h"
#include "support/sanitizers.h"

namespace ronde::cases {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;
using std::chrono::seconds;

const std::vector<Way> kWays = {{"threads", true, "inproc"}, {"shm", false, "shm"}, {"tcp", false, "tcp"}};
constexpr int kMostRanks = 8;
constexpr size_t kLong = 16 << 20;
const std::vector<std::pair<std::string, std::string>> kSoonWarned = {{"RONDE_LATE_WARNING", "2"}};
const std::string kCircle = "a circle: put sends and receives that depend on each other into one group";

// In memory that all processes of a world share. A warning: the first one of each rank.
struct Shared {
  std::atomic<int> warned{0};
  std::atomic<bool> is_warned[kMostRanks] = {};
  std::atomic<Clock::rep> begun_at[kMostRanks] = {};  // of the steady clock, which all processes share
  std::atomic<Clock::rep> warned_at[kMostRanks] = {};
  char warning[kMostRanks][2048] = {};
  std::atomic<int> ready{0};
};

class SharedPage {
 public:
  SharedPage() {
    void* page = mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (page == MAP_FAILED) throw std::runtime_error("mmap failed");
    shared_ = new (page) Shared{};
  }
  ~SharedPage() { munmap(shared_, sizeof(Shared)); }
  SharedPage(const SharedPage&) = delete;
  SharedPage& operator=(const SharedPage&) = delete;
  Shared* operator->() const { return shared_; }
  Shared& operator*() const { return *shared_; }

 private:
  Shared* shared_;
};

void note_warning(rondeLogLevel_t, const char* message, void* user) {
  auto& shared = *static_cast<Shared*>(user);
  int rank = 0;
  if (std::sscanf(message, "rank %d of", &rank) != 1 || rank < 0 || rank >= kMostRanks) return;
  if (std::strstr(message, " has waited ") == nullptr || shared.is_warned[rank].exchange(true)) return;
  std::snprintf(shared.warning[rank], sizeof shared.warning[rank], "%s", message);
  shared.warned_at[rank] = Clock::now().time_since_epoch().count();
  ++shared.warned;
}

bool comes_true(const std::function<bool()>& condition, milliseconds limit) {
  for (const auto deadline = Clock::now() + limit; !condition(); std::this_thread::sleep_for(milliseconds(1))) {
    if (Clock::now() > deadline) return false;
  }
  return true;
}

rondeResult_t send(const Rank& rank, const std::vector<char>& data, int peer) {
  return rondeSend(data.data(), data.size(), rondeInt8, peer, rank.comm(), nullptr);
}
rondeResult_t receive(const Rank& rank, std::vector<char>& data, int peer) {
  return rondeRecv(data.data(), data.size(), rondeInt8, peer, rank.comm(), nullptr);
}

// A world in which every rank makes a call that never ends, is warned, and is ended by an abort of rank 0 then.
class Stuck {
 public:
  std::string run(const Way& way, int nranks, const std::function<rondeResult_t(Rank&)>& call) {
    World world{way, nranks, kSoonWarned};
    world.before = [this] { expect_success(rondeSetLogCallback(note_warning, &*shared), "the callback"); };
    return run_ranks(world, [&, nranks](Rank& rank) {
      expect_success(rondeBarrier(rank.comm(), nullptr), "the barrier");
      std::thread aborts;
      if (rank.number() == 0)
        aborts = std::thread([&] {
          comes_true([&] { return shared->warned == nranks; }, seconds(10));
          rondeCommAbort(rank.comm());
        });
      shared->begun_at[rank.number()] = Clock::now().time_since_epoch().count();
      const rondeResult_t result = call(rank);
      if (aborts.joinable()) aborts.join();
      expect(shared->warned == nranks, "only " + std::to_string(shared->warned) + " ranks have warned");
      expect(result == (rank.number() == 0 ? rondeAborted : rondeRemoteError),
             std::string("the call has ended with ") + rondeGetErrorString(result));
    });
  }
  // After the beginning of the call of that rank.
  [[nodiscard]] Clock::duration warned_after(int rank) const {
    return Clock::duration(shared->warned_at[rank] - shared->begun_at[rank]);
  }
  [[nodiscard]] std::string warning(int rank) const { return shared->warning[rank]; }

  SharedPage shared;
};

std::string send_text(size_t bytes, int peer) {
  return "Send (" + std::to_string(bytes) + " bytes to rank " + std::to_string(peer) + ")";
}

// What was called, with the number of bytes; all of it in one group.
rondeResult_t exchange(const Rank& rank, const std::vector<char>& out, std::vector<char>& in, int to, int from) {
  rondeGroupStart();
  send(rank, out, to);
  receive(rank, in, from);
  return rondeGroupEnd();
}

}  // namespace

TEST_CASE("two ranks that both send first are told of the circle within the warning time, whatever the size") {
  for (const Way& way : kWays) {
    for (const size_t bytes : {size_t{1}, kLong}) {
      CAPTURE(way.name, bytes);
      Stuck stuck;
      CHECK(stuck.run(way, 2,
                      [bytes](Rank& rank) { return send(rank, std::vector<char>(bytes), 1 - rank.number()); }) == "");
      for (const int rank : {0, 1}) {
        CHECK(stuck.warned_after(rank) < seconds(5));
        CHECK_THAT(stuck.warning(rank), Catch::Contains("for rank " + std::to_string(1 - rank) + ", which waits in " +
                                                        send_text(bytes, rank)) &&
                                            Catch::EndsWith("for rank " + std::to_string(rank) + ": " + kCircle));
      }
      // In one group it works.
      CHECK(run_ranks({way, 2}, [bytes](Rank& rank) {
              const std::vector<char> out(bytes, static_cast<char>(rank.number() + 1));
              std::vector<char> in(bytes);
              const int other = 1 - rank.number();
              expect_success(exchange(rank, out, in, other, other), "the group");
              expect(in.back() == static_cast<char>(other + 1), "other bytes than were sent");
            }) == "");
    }
  }
}

TEST_CASE("a circle of three is told, too, and works in groups") {
  for (const Way& way : kWays) {
    CAPTURE(way.name);
    const size_t bytes = 100'000;
    Stuck stuck;
    CHECK(stuck.run(way, 3, [](Rank& rank) { return send(rank, std::vector<char>(bytes), (rank.number() + 1) % 3); }) ==
          "");
    for (const int rank : {0, 1, 2}) {
      const int next = (rank + 1) % 3;
      CHECK(stuck.warned_after(rank) < seconds(5));
      CHECK_THAT(stuck.warning(rank), Catch::Contains("for rank " + std::to_string(next) + ", which waits in " +
                                                      send_text(bytes, (next + 1) % 3)) &&
                                          Catch::EndsWith("for rank " + std::to_string(rank) + ": " + kCircle));
    }
    CHECK(run_ranks({way, 3}, [](Rank& rank) {
            const std::vector<char> out(bytes, 'x');
            std::vector<char> in(bytes);
            expect_success(exchange(rank, out, in, (rank.number() + 1) % 3, (rank.number() + 2) % 3), "the group");
          }) == "");
  }
}

TEST_CASE("a collective and a receive that wait for each other are told of the circle") {
  for (const Way& way : kWays) {
    CAPTURE(way.name);
    Stuck stuck;
    CHECK(stuck.run(way, 2, [](Rank& rank) {
      float value = 1;
      if (rank.number() == 0) return rondeAllReduce(&value, &value, 1, rondeFloat32, rondeSum, rank.comm(), nullptr);
      std::vector<char> data(10);
      return receive(rank, data, 0);
    }) == "");
    for (const int rank : {0, 1}) CHECK(stuck.warned_after(rank) < seconds(5));
    CHECK_THAT(stuck.warning(0),
               Catch::EndsWith("for rank 1, which waits in Recv (10 bytes from rank 0) for rank 0: " + kCircle));
    CHECK_THAT(stuck.warning(1),
               Catch::Contains("for rank 0, which waits in AllReduce (float32, sum, 1 element) number ") &&
                   Catch::EndsWith("for rank 1: " + kCircle));
  }
}

TEST_CASE("a message from or to a rank that has destroyed its communicator is an error, soon") {
  for (const Way& way : kWays) {
    for (const int nranks : {2, 8}) {
      for (const bool sends : {false, true}) {
        CAPTURE(way.name, nranks, sends);
        const int gone = nranks == 2 ? 1 : 3;  // of 8: rank 0 has no control connection to it
        SharedPage shared;
        CHECK(run_ranks({way, nranks}, [&, sends, gone](Rank& rank) {
                expect_success(rondeBarrier(rank.comm(), nullptr), "the barrier");
                if (rank.number() == gone) return;
                if (rank.number() != 0) {
                  comes_true([&] { return shared->ready != 0; }, seconds(10));
                  return;
                }
                std::vector<char> data(10);
                const auto begun = Clock::now();
                const rondeResult_t result = sends ? send(rank, data, gone) : receive(rank, data, gone);
                const auto took = Clock::now() - begun;
                ++shared->ready;
                const std::string text = rondeGetLastError(rank.comm());
                const std::string name = "rank " + std::to_string(gone);
                expect(result == rondePeerLost, std::string(rondeGetErrorString(result)) + ": " + text);
                expect(text.find(name) == 0 && text.find("has left") != std::string::npos, text);
                expect(took < milliseconds(2'000) + testing::at_once(300),
                       "only after " + std::to_string(took / milliseconds(1)) + " ms");
              }) == "");
      }
    }
  }
}

TEST_CASE("the message to a rank that receives it late and leaves at once has arrived") {
  for (const Way& way : kWays) {
    for (const size_t bytes : {size_t{1}, size_t{1} << 20}) {
      CAPTURE(way.name, bytes);
      for (int round = 0; round < 3; ++round) {
        CHECK(run_ranks({way, 2}, [bytes](Rank& rank) {
                std::vector<char> data(bytes);
                if (rank.number() == 0) return expect_success(send(rank, data, 1), "the send");
                std::this_thread::sleep_for(milliseconds(600));  // rank 0 waits for long by then
                expect_success(receive(rank, data, 0), "the receive");
              }) == "");
      }
    }
  }
}

TEST_CASE("a message from a rank that dies is an error, soon") {
  for (const Way& way : kWays) {
    if (way.threads) continue;
    CAPTURE(way.name);
    SharedPage shared;
    CHECK(run_ranks({way, 3}, [&shared](Rank& rank) {
            expect_success(rondeBarrier(rank.comm(), nullptr), "the barrier");
            std::vector<char> data(10);
            if (rank.number() == 1) {
              comes_true([&] { return shared->ready == 2; }, seconds(10));
              _exit(0);
            }
            ++shared->ready;
            const auto begun = Clock::now();
            const rondeResult_t result = receive(rank, data, 1);
            const std::string text = rondeGetLastError(rank.comm());
            expect(result == rondePeerLost && text.find("rank 1") != std::string::npos, text);
            expect(Clock::now() - begun < seconds(2), "only after more than 2 s");
          }) == "");
  }
}

}  // namespace ronde::cases
