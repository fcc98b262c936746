// Situation 5 for what it does not name: all collectives and messages without elements, between right ones.
#include <array>
#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "cases/support/mixed.h"
#include "cases/support/ranks.h"

namespace ronde::cases {
namespace {

constexpr int kRanks = 4;
constexpr int kRoot = 2;
constexpr std::array<size_t, kRanks> kZeros = {};
constexpr rondeDataType_t kType = rondeFloat32;

// Without elements and buffers.
struct Call {
  const char* name;
  rondeResult_t (*start)(rondeComm_t comm, rondeStream_t stream);
};

// What a rank sends to itself needs its counterpart in the same group.
rondeResult_t empty_messages(rondeComm_t comm, rondeStream_t stream) {
  rondeGroupStart();
  for (int peer = 0; peer < kRanks; ++peer) {
    rondeSend(nullptr, 0, kType, peer, comm, stream);
    rondeRecv(nullptr, 0, kType, peer, comm, stream);
  }
  return rondeGroupEnd();
}

const Call kCalls[] = {
    {"AllReduce", [](auto comm, auto to) { return rondeAllReduce(nullptr, nullptr, 0, kType, rondeSum, comm, to); }},
    {"ReduceScatter",
     [](auto comm, auto to) { return rondeReduceScatter(nullptr, nullptr, 0, kType, rondeSum, comm, to); }},
    {"ReduceScatterV",
     [](auto comm, auto to) {
       return rondeReduceScatterV(nullptr, nullptr, kZeros.data(), nullptr, kType, rondeSum, comm, to);
     }},
    {"AllGather", [](auto comm, auto to) { return rondeAllGather(nullptr, nullptr, 0, kType, comm, to); }},
    {"AllGatherV",
     [](auto comm, auto to) { return rondeAllGatherV(nullptr, nullptr, kZeros.data(), nullptr, kType, comm, to); }},
    {"Broadcast", [](auto comm, auto to) { return rondeBroadcast(nullptr, nullptr, 0, kType, kRoot, comm, to); }},
    {"Bcast", [](auto comm, auto to) { return rondeBcast(nullptr, 0, kType, kRoot, comm, to); }},
    {"Reduce", [](auto comm, auto to) { return rondeReduce(nullptr, nullptr, 0, kType, rondeSum, kRoot, comm, to); }},
    {"AlltoAll", [](auto comm, auto to) { return rondeAlltoAll(nullptr, nullptr, 0, kType, comm, to); }},
    {"AlltoAllV",
     [](auto comm, auto to) {
       return rondeAlltoAllV(nullptr, kZeros.data(), nullptr, nullptr, kZeros.data(), nullptr, kType, comm, to);
     }},
    {"Gather", [](auto comm, auto to) { return rondeGather(nullptr, nullptr, 0, kType, kRoot, comm, to); }},
    {"GatherV",
     [](auto comm, auto to) {
       return rondeGatherV(nullptr, 0, nullptr, kZeros.data(), nullptr, kType, kRoot, comm, to);
     }},
    {"Scatter", [](auto comm, auto to) { return rondeScatter(nullptr, nullptr, 0, kType, kRoot, comm, to); }},
    {"ScatterV",
     [](auto comm, auto to) {
       return rondeScatterV(nullptr, kZeros.data(), nullptr, nullptr, 0, kType, kRoot, comm, to);
     }},
    {"messages", empty_messages}};

// A stream of its own, or none.
class MaybeStream {
 public:
  explicit MaybeStream(bool wanted) {
    if (wanted) expect_success(rondeStreamCreate(&stream_), "rondeStreamCreate");
  }
  ~MaybeStream() { rondeStreamDestroy(stream_); }
  MaybeStream(const MaybeStream&) = delete;
  MaybeStream& operator=(const MaybeStream&) = delete;
  [[nodiscard]] rondeStream_t get() const { return stream_; }
  void synchronize() const {
    if (stream_ != nullptr) expect_success(rondeStreamSynchronize(stream_), "rondeStreamSynchronize");
  }

 private:
  rondeStream_t stream_ = nullptr;
};

// The next operation finds its counterparts, and is right.
void a_right_one(const Member& member, uint32_t number, const MaybeStream& stream) {
  Drawn drawn;
  drawn.number = number;
  drawn.kind = static_cast<Kind>(number % static_cast<uint32_t>(Kind::number_of_kinds));
  drawn.count = 5;
  drawn.root = 1;
  MixedOperation operation(drawn, member);
  operation.call(stream.get());
  stream.synchronize();
  operation.check();
}

void nothing_by_any_collective(Rank& rank) {
  const Member member(rank.comm());
  for (const bool on_stream : {false, true}) {
    const MaybeStream stream(on_stream);
    uint32_t number = 0;
    for (const Call& call : kCalls) {
      expect_success(call.start(rank.comm(), stream.get()), call.name);
      stream.synchronize();
      a_right_one(member, ++number, stream);
    }
    expect_success(rondeGroupStart(), "rondeGroupStart");
    for (const Call& call : kCalls) expect_success(call.start(rank.comm(), stream.get()), call.name);
    expect_success(rondeGroupEnd(), "rondeGroupEnd of all");
    stream.synchronize();
    a_right_one(member, ++number, stream);
  }
}

// From one rank to another; some pairs have nothing, one way or both.
size_t bytes_between(int from, int to, uint32_t round) {
  static constexpr std::array<size_t, 5> kSizes = {0, 5, 0, 70'000, 1};
  return kSizes[(static_cast<uint32_t>(from) * 3 + static_cast<uint32_t>(to) * 7 + round) % kSizes.size()];
}

unsigned char byte_of(int from, int to, uint32_t round, size_t index) {
  return static_cast<unsigned char>(static_cast<size_t>(from) * 31 + static_cast<size_t>(to) * 7 + round + index * 3);
}

using Blocks = std::array<std::vector<unsigned char>, kRanks>;

void exchange(Rank& rank, uint32_t round, const MaybeStream& stream) {
  Blocks out;
  Blocks in;
  const int own = rank.number();
  expect_success(rondeGroupStart(), "rondeGroupStart");
  for (int peer = 0; peer < kRanks; ++peer) {
    std::vector<unsigned char>& sent = out[static_cast<size_t>(peer)];
    std::vector<unsigned char>& received = in[static_cast<size_t>(peer)];
    sent.resize(bytes_between(own, peer, round));
    received.resize(bytes_between(peer, own, round));
    for (size_t i = 0; i < sent.size(); ++i) sent[i] = byte_of(own, peer, round, i);
    const void* from = sent.empty() ? nullptr : sent.data();
    void* to = received.empty() ? nullptr : received.data();
    expect_success(rondeSend(from, sent.size(), rondeUint8, peer, rank.comm(), stream.get()), "rondeSend");
    expect_success(rondeRecv(to, received.size(), rondeUint8, peer, rank.comm(), stream.get()), "rondeRecv");
  }
  expect_success(rondeGroupEnd(), "rondeGroupEnd");
  stream.synchronize();
  for (int peer = 0; peer < kRanks; ++peer) {
    const std::vector<unsigned char>& received = in[static_cast<size_t>(peer)];
    for (size_t i = 0; i < received.size(); ++i)
      expect(received[i] == byte_of(peer, own, round, i), "wrong byte from rank " + std::to_string(peer));
  }
}

}  // namespace

TEST_CASE("case_05_nothing_to_send_by_any_collective") {
  for (const Way& way : pairwise_ways()) CHECK(run_ranks({way, kRanks}, nothing_by_any_collective) == "");
}

TEST_CASE("case_05_groups_in_which_some_pairs_have_nothing") {
  for (const Way& way : pairwise_ways()) {
    CHECK(run_ranks({way, kRanks}, [](Rank& rank) {
            const Member member(rank.comm());
            const MaybeStream none(false);
            const MaybeStream stream(true);
            for (uint32_t round = 0; round < 10; ++round) {
              exchange(rank, round, round % 2 == 0 ? none : stream);
              a_right_one(member, round, none);
            }
          }) == "");
  }
}

}  // namespace ronde::cases
