// Situation 26: two communicators at a time, by two threads of each rank, or by one thread with streams, in an order
// that differs between the ranks.
#include <array>
#include <atomic>
#include <catch2/catch.hpp>
#include <future>
#include <string>
#include <thread>
#include <vector>

#include "cases/support/ranks.h"

namespace ronde::cases {
namespace {

constexpr size_t kRounds = 1000;
constexpr size_t kMostElements = 5000;

const std::vector<Way>& ways() {
  static const std::vector<Way> all = {{"inproc", true, "inproc"},
                                       {"shm", false, "shm"},
                                       {"shm, ring", false, "shm", "ring"},
                                       {"tcp", false, "tcp"},
                                       {"tcp threads", true, "tcp"}};
  return all;
}

// One over the ranks of the first; the id goes over that one.
class SecondCommunicator {
 public:
  explicit SecondCommunicator(Rank& rank) {
    rondeUniqueId id{};
    if (rank.number() == 0) expect_success(rondeGetUniqueId(&id), "rondeGetUniqueId");
    expect_success(rank.all_reduce(&id, &id, sizeof id, rondeUint8, rondeSum), "handing the id on");
    expect_success(rondeCommInitRank(&comm_, rank.nranks(), id, rank.number()), "the second rondeCommInitRank");
  }
  ~SecondCommunicator() { rondeCommDestroy(comm_); }
  SecondCommunicator(const SecondCommunicator&) = delete;
  SecondCommunicator& operator=(const SecondCommunicator&) = delete;
  [[nodiscard]] rondeComm_t get() const { return comm_; }

 private:
  rondeComm_t comm_ = nullptr;
};

// In which order a rank begins: both alike, both the other way round, each its own.
size_t begins_with(size_t round, int rank) {
  const size_t by_round = round / 3 % 2;
  return round % 3 == 0 ? by_round : (by_round + static_cast<size_t>(rank)) % 2;
}

// The calls of one communicator, each with values of its own.
class Calls {
 public:
  Calls(rondeComm_t comm, size_t which, const Rank& rank) : comm_(comm), which_(which), rank_(rank) {}

  void call(size_t round, rondeStream_t stream) {
    std::vector<float>& values = buffers_[round % buffers_.size()];
    values.assign(elements(round), value(round, rank_.number()));
    expect_success(rondeAllReduce(values.data(), values.data(), values.size(), rondeFloat32, rondeSum, comm_, stream),
                   "rondeAllReduce in round " + std::to_string(round));
  }
  void check(size_t round) const {
    float sum = 0;
    for (int other = 0; other < rank_.nranks(); ++other) sum += value(round, other);
    expect(buffers_[round % buffers_.size()] == std::vector<float>(elements(round), sum),
           "communicator " + std::to_string(which_) + " is wrong in round " + std::to_string(round));
  }

  static constexpr size_t kAtOnce = 8;

 private:
  [[nodiscard]] size_t elements(size_t round) const {
    const size_t some = (round * 7919 + which_ * 104'729) % kMostElements;
    return round % 2 == 0 ? 1 + some % 10 : 1 + some;
  }
  [[nodiscard]] float value(size_t round, int rank) const {
    return static_cast<float>(round * 4 + which_ * 2 + static_cast<size_t>(rank));
  }

  rondeComm_t comm_;
  size_t which_;
  const Rank& rank_;
  std::array<std::vector<float>, kAtOnce> buffers_;
};

// In each round one of the two threads of the rank begins.
void two_threads(Rank& rank) {
  const SecondCommunicator second(rank);
  std::vector<std::atomic<bool>> begun(kRounds);
  std::atomic<bool> failed{false};
  const auto thread = [&](size_t which, rondeComm_t comm) {
    try {
      Calls calls(comm, which, rank);
      for (size_t round = 0; round < kRounds; ++round) {
        if (begins_with(round, rank.number()) == which) {
          begun[round] = true;
        } else {
          while (!begun[round] && !failed) std::this_thread::yield();
        }
        calls.call(round, nullptr);
        calls.check(round);
      }
    } catch (...) {
      failed = true;
      throw;
    }
  };
  auto other = std::async(std::launch::async, thread, 1, second.get());
  thread(0, rank.comm());
  other.get();
}

void one_thread_with_streams(Rank& rank) {
  const SecondCommunicator second(rank);
  Calls calls[2] = {Calls(rank.comm(), 0, rank), Calls(second.get(), 1, rank)};
  rondeStream_t streams[2];
  for (rondeStream_t& stream : streams) expect_success(rondeStreamCreate(&stream), "rondeStreamCreate");
  for (size_t round = 0; round < kRounds; ++round) {
    const size_t first = begins_with(round, rank.number());
    for (const size_t which : {first, 1 - first}) calls[which].call(round, streams[which]);
    if (round % Calls::kAtOnce != Calls::kAtOnce - 1) continue;
    for (const size_t which : {1 - first, first}) {
      expect_success(rondeStreamSynchronize(streams[which]), "rondeStreamSynchronize");
      for (size_t i = 0; i < Calls::kAtOnce; ++i) calls[which].check(round - i);
    }
  }
  for (rondeStream_t stream : streams) expect_success(rondeStreamDestroy(stream), "rondeStreamDestroy");
}

}  // namespace

TEST_CASE("case_26_two_communicators_of_two_threads") {
  for (const Way& way : ways()) CHECK(run_ranks({way, 2}, two_threads) == "");
}

TEST_CASE("case_26_two_communicators_of_one_thread_on_two_streams") {
  static_assert(kRounds % Calls::kAtOnce == 0);
  for (const Way& way : ways()) CHECK(run_ranks({way, 2}, one_thread_with_streams) == "");
}

}  // namespace ronde::cases
