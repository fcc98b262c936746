// Situation 14 and what belongs to it: communicators that start in the background, whose start is aborted at any
// moment, that are aborted or revoked while operations wait.
#include <ronde/ronde.h>
#include <sys/mman.h>

#include <atomic>
#include <catch2/catch.hpp>
#include <chrono>
#include <functional>
#include <memory>
#include <new>
#include <string>
#include <thread>
#include <vector>

#include "cases/support/child.h"
#include "cases/support/ranks.h"
#include "support/how_many.h"

namespace ronde::cases {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;
using std::chrono::seconds;

// In memory that all processes of a world share.
struct Shared {
  std::atomic<int> id_made{0};
  rondeUniqueId id{};
  std::atomic<int> at_the_end{0};
  std::atomic<Clock::rep> aborted_at{0};  // of the steady clock, which all processes share
};

struct Kind {
  const char* transport;
  bool threads;
};
const std::vector<Kind> kKinds = {{"inproc", true}, {"shm", false}, {"tcp", false}};

class Seat {
 public:
  Seat(int rank, int nranks, Shared* shared, const char* transport)
      : rank_(rank), nranks_(nranks), shared_(shared), transport_(transport) {
    if (rank == 0) {
      expect_success(rondeGetUniqueId(&shared->id), "the id");
      shared->id_made = 1;
    }
    while (shared->id_made == 0) std::this_thread::sleep_for(milliseconds(1));
  }
  ~Seat() {
    if (comm_ != nullptr) rondeCommDestroy(comm_);
  }
  Seat(const Seat&) = delete;
  Seat& operator=(const Seat&) = delete;

  [[nodiscard]] int rank() const { return rank_; }
  [[nodiscard]] rondeComm_t comm() const { return comm_; }

  void begin() {
    rondeConfig_t config = RONDE_CONFIG_INITIALIZER;
    config.blocking = 0;
    config.transport = transport_;
    const auto before = Clock::now();
    const rondeResult_t result = rondeCommInitRankConfig(&comm_, nranks_, shared_->id, rank_, &config);
    expect(result == rondeInProgress, std::string("init has returned ") + rondeGetErrorString(result));
    expect(Clock::now() - before < seconds(1), "init has blocked");
  }
  [[nodiscard]] rondeResult_t state() const {
    rondeResult_t state = rondeInternalError;
    expect_success(rondeCommGetAsyncError(comm_, &state), "rondeCommGetAsyncError");
    return state;
  }
  // What the start has come to.
  rondeResult_t outcome(milliseconds limit) const {
    const auto deadline = Clock::now() + limit;
    while (state() == rondeInProgress) {
      expect(Clock::now() < deadline, "rank " + std::to_string(rank_) + ": the start has not ended in time");
      std::this_thread::sleep_for(milliseconds(1));
    }
    return state();
  }
  rondeResult_t sum(float* value) const {
    return rondeAllReduce(value, value, 1, rondeFloat32, rondeSum, comm_, nullptr);
  }
  // Until `ranks` have come here: none ends before the others have learnt what they have to.
  void wait_for_the_end(int ranks) const {
    ++shared_->at_the_end;
    const auto deadline = Clock::now() + seconds(20);
    while (shared_->at_the_end < ranks && Clock::now() < deadline) std::this_thread::sleep_for(milliseconds(1));
  }
  void abort() const {
    shared_->aborted_at = Clock::now().time_since_epoch().count();
    expect_success(rondeCommAbort(comm_), "abort");
  }
  // How long ago that was; the caller has just learnt of it.
  [[nodiscard]] Clock::duration since_abort() const {
    return Clock::now().time_since_epoch() - Clock::duration(shared_->aborted_at);
  }
  void all_is_well() const {
    float value = 1;
    expect_success(sum(&value), "the operation");
    expect(value == static_cast<float>(nranks_), "the sum is wrong");
  }

 private:
  int rank_;
  int nranks_;
  Shared* shared_;
  const char* transport_;
  rondeComm_t comm_ = nullptr;
};

std::string report_of(const std::function<void(Seat&)>& body, Seat& seat) {
  try {
    body(seat);
    return "";
  } catch (const std::exception& error) {
    return "rank " + std::to_string(seat.rank()) + ": " + error.what() + "\n";
  }
}

// The ranks that take part: `present` of nranks.
std::string run_seats(const Kind& kind, int nranks, int present, const std::function<void(Seat&)>& body) {
  void* memory = mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  auto* shared = new (memory) Shared();
  std::vector<Child> children;
  if (kind.threads) {
    children.emplace_back([&] {
      std::vector<std::string> reports(static_cast<size_t>(present));
      std::vector<std::thread> threads;
      for (int rank = 0; rank < present; ++rank) {
        threads.emplace_back([&, rank] {
          Seat seat(rank, nranks, shared, kind.transport);
          reports[static_cast<size_t>(rank)] = report_of(body, seat);
        });
      }
      for (std::thread& thread : threads) thread.join();
      std::string all;
      for (const std::string& report : reports) all += report;
      return all;
    });
  }
  for (int rank = 0; !kind.threads && rank < present; ++rank) {
    children.emplace_back([&, rank] {
      Seat seat(rank, nranks, shared, kind.transport);
      return report_of(body, seat);
    });
  }
  std::string all;
  for (Child& child : children)
    all += child.end_by(Clock::now() + seconds(60), std::string("a process over ") + kind.transport);
  munmap(memory, sizeof(Shared));
  return all;
}

void wait_a_little(uint32_t seed, int most_us) {
  seed = seed * 1664525 + 1013904223;
  std::this_thread::sleep_for(std::chrono::microseconds((seed >> 8) % static_cast<uint32_t>(most_us)));
}

}  // namespace

TEST_CASE("a communicator that starts in the background becomes ready, and only then can be used") {
  for (const Kind& kind : kKinds) {
    CHECK(run_seats(kind, 3, 3, [](Seat& seat) {
            if (seat.rank() == 2) std::this_thread::sleep_for(milliseconds(200));
            seat.begin();
            float value = 1;
            int number = 0;
            if (seat.rank() == 0) {  // rank 2 is not there yet
              expect(seat.sum(&value) == rondeInProgress, "an operation before the communicator was ready");
              expect(rondeCommCount(seat.comm(), &number) == rondeInProgress, "count before it was ready");
              expect(rondeCommFinalize(seat.comm()) == rondeInProgress, "finalize before it was ready");
              expect(rondeCommRevoke(seat.comm(), RONDE_REVOKE_DEFAULT) == rondeInProgress, "revoke before");
            }
            expect(seat.outcome(milliseconds(20'000)) == rondeSuccess, rondeGetLastError(seat.comm()));
            seat.all_is_well();
            expect_success(rondeCommCount(seat.comm(), &number), "count");
            expect(number == 3, "the count is wrong");
          }) == "");
  }
}

TEST_CASE("case_14_abort_during_init: the start ends on all ranks, and names who has aborted it") {
  for (const Kind& kind : kKinds) {
    CHECK(run_seats(kind, 4, 3, [](Seat& seat) {  // rank 3 never comes
            seat.begin();
            if (seat.rank() == 1) {
              std::this_thread::sleep_for(milliseconds(100));
              const auto before = Clock::now();
              expect_success(rondeCommAbort(seat.comm()), "abort");
              expect(Clock::now() - before < milliseconds(500), "abort has blocked");
              expect(seat.outcome(milliseconds(1'000)) == rondeAborted, "it was aborted");
              seat.wait_for_the_end(3);
              return;
            }
            const rondeResult_t outcome = seat.outcome(milliseconds(3'000));
            const std::string text = rondeGetLastError(seat.comm());
            expect(outcome == rondeRemoteError, "rank 1 has aborted, but: " + text);
            expect(text.find("rank 1") != std::string::npos && text.find("abort") != std::string::npos, text);
            float value = 1;
            expect(seat.sum(&value) == rondeRemoteError, "an operation on it");
            seat.wait_for_the_end(3);
          }) == "");
  }
}

TEST_CASE("case_14_destroy_during_init: it ends the start") {
  CHECK(run_seats({"auto", true}, 2, 1, [](Seat& seat) {
          seat.begin();
          std::this_thread::sleep_for(milliseconds(50));
        }) == "");
  // A process that exits without destroy.
  CHECK(run_seats({"auto", false}, 2, 1, [](Seat& seat) {
          seat.begin();
          std::exit(0);
        }) == "");
}

TEST_CASE("case_14_abort_at_any_moment: during the start, after it, during an operation") {
  const auto seeds = static_cast<uint32_t>(testing::how_many("TEST_ABORTS", 12));
  // Beside other tests, and with sanitizers, the machine's other work counts.
  const auto limit = seeds > 100 ? seconds(1) : seconds(5);
  for (const Kind& kind : kKinds) {
    for (uint32_t seed = 0; seed < seeds; ++seed) {
      CAPTURE(kind.transport, seed);
      const int aborts = static_cast<int>(seed % 3);
      CHECK(run_seats(kind, 3, 3, [seed, aborts, limit](Seat& seat) {
              seat.begin();
              std::thread other;
              std::atomic<bool> aborted{false};
              if (seat.rank() == aborts) {
                other = std::thread([&] {
                  wait_a_little(seed, 40'000);
                  seat.abort();
                  aborted = true;
                });
              }
              rondeResult_t result = seat.outcome(milliseconds(10'000));
              const auto deadline = Clock::now() + seconds(10);
              float value = 0;
              while (result == rondeSuccess && Clock::now() < deadline) result = seat.sum(&value);
              const auto after = seat.since_abort();
              if (other.joinable()) other.join();
              seat.wait_for_the_end(3);
              const bool own = seat.rank() == aborts;
              expect(
                  result == (own ? rondeAborted : rondeRemoteError),
                  std::string("the result is ") + rondeGetErrorString(result) + ": " + rondeGetLastError(seat.comm()));
              expect(!own || aborted, "who has not aborted has rondeAborted");
              expect(after <= limit, "it took " + std::to_string(after / milliseconds(1)) + " ms");
            }) == "");
    }
  }
}

TEST_CASE("a revoked communicator ends the operations of all ranks") {
  for (const Kind& kind : kKinds) {
    CHECK(run_seats(kind, 3, 3, [](Seat& seat) {
            seat.begin();
            expect(seat.outcome(milliseconds(20'000)) == rondeSuccess, rondeGetLastError(seat.comm()));
            seat.all_is_well();
            float value = 1;
            if (seat.rank() == 2) {
              std::this_thread::sleep_for(milliseconds(100));
              expect(rondeCommRevoke(seat.comm(), 1) == rondeInvalidArgument, "unknown flags");
              expect_success(rondeCommRevoke(seat.comm(), RONDE_REVOKE_DEFAULT), "revoke");
            }
            const auto before = Clock::now();
            expect(seat.sum(&value) == rondeRevoked, std::string("the result is ") + rondeGetLastError(seat.comm()));
            expect(Clock::now() - before < seconds(3), "it took too long");
            expect(seat.sum(&value) == rondeRevoked, "a later call");
            const std::string text = rondeGetLastError(seat.comm());
            expect(text.find("rank 2") != std::string::npos, text);
            seat.wait_for_the_end(3);
          }) == "");
  }
}

}  // namespace ronde::cases
