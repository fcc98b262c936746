// Situation 28, the half of the C interface: ronde.h says how long buffers must live (its convention 5), and no longer
// do they need to. Whoever gives them up at that moment, and fills memory at the same place, harms nobody.
#include <sys/mman.h>

#include <atomic>
#include <catch2/catch.hpp>
#include <chrono>
#include <cstring>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "cases/support/ranks.h"
#include "support/sanitizers.h"

namespace ronde::cases {
namespace {

using std::chrono::milliseconds;

constexpr size_t kCounts[] = {1, 1'000, 60'000};
constexpr unsigned char kGarbage = 0xee;

// Pages of their own: once given up, they are no memory, or at once somebody else's.
class Pages {
 public:
  explicit Pages(size_t count) : bytes_(count * sizeof(float)) {
    void* memory = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    expect(memory != MAP_FAILED, "no memory");
    memory_ = static_cast<float*>(memory);
  }
  ~Pages() { munmap(memory_, bytes_); }
  Pages(const Pages&) = delete;
  Pages& operator=(const Pages&) = delete;

  [[nodiscard]] float* elements() const { return memory_; }
  void fill_with_garbage() const { std::memset(memory_, kGarbage, bytes_); }
  [[nodiscard]] bool is_garbage() const {
    const auto* bytes = reinterpret_cast<const unsigned char*>(memory_);
    return bytes[0] == kGarbage && std::memcmp(bytes, bytes + 1, bytes_ - 1) == 0;
  }

 private:
  size_t bytes_;
  float* memory_ = nullptr;
};

enum class What { all_reduce, broadcast, reduce, all_gather, reduce_scatter, all_to_all, gather, scatter, message };
constexpr int kWhats = 9;

// How a rank learns that its buffers are its own again.
enum class End { return_of_call, return_of_group, stream, event, host_function };
constexpr int kEnds = 5;

struct Round {
  int number;
  What what;
  End end;
  size_t count;  // of a block
  int root;
  bool in_place;
};

Round round_of(int number) {
  Round round{};
  round.number = number;
  round.what = static_cast<What>(number % kWhats);
  round.end = static_cast<End>(number % kEnds);
  round.count = kCounts[number / kWhats % 3];
  round.root = number / kEnds % 2;
  round.in_place = round.what == What::all_reduce && number / kWhats % 2 == 1;
  return round;
}

float input_of(const Round& round, int rank, size_t i) {
  return static_cast<float>((static_cast<size_t>(round.number) * 7 + static_cast<size_t>(rank) * 31 + i) % 1'000);
}

rondeResult_t call(const Round& round, int rank, const float* send, float* receive, rondeComm_t comm,
                   rondeStream_t stream) {
  const size_t count = round.count;
  const rondeDataType_t type = rondeFloat32;
  switch (round.what) {
    case What::all_reduce: return rondeAllReduce(send, receive, count, type, rondeSum, comm, stream);
    case What::broadcast: return rondeBroadcast(send, receive, count, type, round.root, comm, stream);
    case What::reduce: return rondeReduce(send, receive, count, type, rondeSum, round.root, comm, stream);
    case What::all_gather: return rondeAllGather(send, receive, count, type, comm, stream);
    case What::reduce_scatter: return rondeReduceScatter(send, receive, count, type, rondeSum, comm, stream);
    case What::all_to_all: return rondeAlltoAll(send, receive, count, type, comm, stream);
    case What::gather: return rondeGather(send, receive, count, type, round.root, comm, stream);
    case What::scatter: return rondeScatter(send, receive, count, type, round.root, comm, stream);
    default: break;
  }
  if (rank == round.root) return rondeSend(send, count, type, 1 - rank, comm, stream);
  return rondeRecv(receive, count, type, 1 - rank, comm, stream);
}

// What the rank must have received; none where it receives nothing. Two ranks.
std::vector<float> wanted(const Round& round, int rank) {
  std::vector<float> result;
  const auto put = [&](const auto& value) {
    for (size_t i = 0; i < round.count; ++i) result.push_back(value(i));
  };
  const auto sum = [&](size_t i) { return input_of(round, 0, i) + input_of(round, 1, i); };
  const size_t own = static_cast<size_t>(rank) * round.count;
  switch (round.what) {
    case What::all_reduce: put(sum); break;
    case What::broadcast: put([&](size_t i) { return input_of(round, round.root, i); }); break;
    case What::reduce:
      if (rank == round.root) put(sum);
      break;
    case What::gather:
      if (rank != round.root) break;
      [[fallthrough]];
    case What::all_gather:
      for (int from = 0; from < 2; ++from) put([&](size_t i) { return input_of(round, from, i); });
      break;
    case What::reduce_scatter: put([&](size_t i) { return sum(own + i); }); break;
    case What::all_to_all:
      for (int from = 0; from < 2; ++from) put([&](size_t i) { return input_of(round, from, own + i); });
      break;
    case What::scatter: put([&](size_t i) { return input_of(round, round.root, own + i); }); break;
    default:
      if (rank != round.root) put([&](size_t i) { return input_of(round, round.root, i); });
      break;
  }
  return result;
}

struct Buffers {
  std::unique_ptr<Pages> send;
  std::unique_ptr<Pages> receive;  // NULL: in place
  std::vector<float> result;
  size_t result_count = 0;
  std::atomic<bool> given_up{false};

  float* output() { return receive != nullptr ? receive->elements() : send->elements(); }
  // Keeps what was received, and the memory is no more.
  void give_up() {
    result.assign(output(), output() + result_count);
    send.reset();
    receive.reset();
    given_up = true;
  }
};

class Player {
 public:
  explicit Player(Rank& rank) : rank_(rank.number()), comm_(rank.comm()) {
    expect_success(rondeStreamCreate(&stream_), "a stream");
    expect_success(rondeEventCreate(&event_), "an event");
  }
  ~Player() {
    rondeEventDestroy(event_);
    rondeStreamDestroy(stream_);
  }
  Player(const Player&) = delete;
  Player& operator=(const Player&) = delete;

  void play(const Round& round) {
    Buffers buffers;
    buffers.send = std::make_unique<Pages>(2 * round.count);
    if (!round.in_place) buffers.receive = std::make_unique<Pages>(2 * round.count);
    for (size_t i = 0; i < 2 * round.count; ++i) buffers.send->elements()[i] = input_of(round, rank_, i);
    const std::vector<float> right = wanted(round, rank_);
    buffers.result_count = right.size();
    // Each rank is late at times: the other one may have ended its part by then.
    if (round.number % 6 == 2 * rank_) std::this_thread::sleep_for(milliseconds(1));
    start(round, buffers);
    if (!buffers.given_up && round.end != End::host_function) buffers.give_up();
    const Pages again(2 * round.count);
    const Pages and_again(2 * round.count);
    again.fill_with_garbage();
    and_again.fill_with_garbage();
    expect_success(rondeStreamSynchronize(stream_), "the stream");
    const std::string name = "round " + std::to_string(round.number);
    expect(buffers.given_up, name + ": the function that gives up has not been called");
    expect(buffers.result == right, name + ": the result is wrong");
    expect(again.is_garbage() && and_again.is_garbage(), name + ": memory that was given up has been written");
  }

 private:
  void start(const Round& round, Buffers& buffers) {
    const bool on_stream = round.end == End::stream || round.end == End::event || round.end == End::host_function;
    if (round.end == End::return_of_group) expect_success(rondeGroupStart(), "the group");
    expect_success(call(round, rank_, buffers.send->elements(), buffers.output(), comm_, on_stream ? stream_ : nullptr),
                   "the call");
    if (round.end == End::return_of_group) expect_success(rondeGroupEnd(), "the end of the group");
    if (round.end == End::stream) expect_success(rondeStreamSynchronize(stream_), "the stream");
    if (round.end == End::event) {
      expect_success(rondeEventRecord(event_, stream_), "the record");
      expect_success(rondeEventSynchronize(event_), "the event");
    }
    if (round.end != End::host_function) return;
    const auto give_up = [](rondeResult_t, void* user) { static_cast<Buffers*>(user)->give_up(); };
    expect_success(rondeLaunchHostFunc(stream_, give_up, &buffers), "the host function");
  }

  int rank_;
  rondeComm_t comm_;
  rondeStream_t stream_ = nullptr;
  rondeEvent_t event_ = nullptr;
};

}  // namespace

TEST_CASE("case_28_memory_given_up_when_the_header_allows_it") {
  constexpr int kRounds = testing::kSanitizer ? 60 : 200;
  for (const Way& way : all_paths()) {
    INFO(way.name);
    CHECK(run_ranks({way, 2}, [](Rank& rank) {
            Player player(rank);
            for (int number = 0; number < kRounds; ++number) player.play(round_of(number));
          }) == "");
  }
}

// An error ends a wait for the stream, too: then the buffers are the caller's again.
TEST_CASE("case_28_memory_given_up_after_an_error") {
  constexpr size_t kCount = 4'000'000;
  for (const Way& way : pairwise_ways()) {
    INFO(way.name);
    CHECK(run_ranks({way, 2}, [](Rank& rank) {
            rondeStream_t stream = nullptr;
            expect_success(rondeStreamCreate(&stream), "a stream");
            rondeResult_t result = rondeSuccess;
            {
              const Pages send(kCount);
              const Pages receive(kCount);
              // On rank 1 it may come after the abort.
              result = rondeAllReduce(send.elements(), receive.elements(), kCount, rondeFloat32, rondeSum, rank.comm(),
                                      stream);
              // In the middle of it, often.
              std::this_thread::sleep_for(milliseconds(1));
              if (rank.number() == 0) expect_success(rondeCommAbort(rank.comm()), "abort");
              if (result == rondeSuccess) result = rondeStreamSynchronize(stream);
            }
            const Pages again(kCount);
            const Pages and_again(kCount);
            again.fill_with_garbage();
            and_again.fill_with_garbage();
            std::this_thread::sleep_for(milliseconds(50));
            expect(result == rondeSuccess || result == (rank.number() == 0 ? rondeAborted : rondeRemoteError),
                   std::string("the operation has returned ") + rondeGetErrorString(result));
            expect(again.is_garbage() && and_again.is_garbage(), "memory that was given up has been written");
            expect(rondeStreamDestroy(stream) == rondeSuccess, "the stream has an error left");
          }) == "");
  }
}

}  // namespace ronde::cases
