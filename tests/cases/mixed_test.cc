// Three communicators of the same four ranks, which are threads, with all kinds of operations mixed: blocking, on
// streams that wait for each other, in groups over several communicators. Random, but the same on all ranks.
//
// The thread sanitizer sees here what threads of one process do to each other. TEST_MIXED_SEEDS: how many runs.
#include "cases/support/mixed.h"

#include <algorithm>
#include <array>
#include <catch2/catch.hpp>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "cases/support/children.h"
#include "cases/support/ranks.h"
#include "support/how_many.h"
#include "support/sanitizers.h"

namespace ronde::cases {
namespace {

constexpr int kRanks = 4;
constexpr int kBatches = testing::kThreadSanitizer || testing::kAddressSanitizer ? 40 : 150;
constexpr size_t kMostInABatch = 6;

enum class How { blocking, on_streams, group, group_on_streams, number };

// What one rank has: communicators, streams, and the operations that have not been checked.
class Mixer {
 public:
  Mixer(uint32_t seed, const std::vector<rondeComm_t>& comms) : random_(seed) {
    for (rondeComm_t comm : comms) members_.push_back(std::make_unique<Member>(comm));
    for (rondeStream_t& stream : streams_) expect_success(rondeStreamCreate(&stream), "rondeStreamCreate");
    expect_success(rondeEventCreate(&event_), "rondeEventCreate");
  }
  ~Mixer() {
    for (rondeStream_t stream : streams_) rondeStreamDestroy(stream);
    rondeEventDestroy(event_);
  }
  Mixer(const Mixer&) = delete;
  Mixer& operator=(const Mixer&) = delete;

  void batch() {
    const auto how = static_cast<How>(random_() % static_cast<uint32_t>(How::number));
    const size_t operations = 1 + random_() % kMostInABatch;
    const bool grouped = how == How::group || how == How::group_on_streams;
    const bool streamed = how == How::on_streams || how == How::group_on_streams;
    if (grouped) expect_success(rondeGroupStart(), "rondeGroupStart");
    for (size_t i = 0; i < operations; ++i) {
      const size_t which = random_() % members_.size();
      pending_.push_back(std::make_unique<MixedOperation>(Drawn::draw(random_, kRanks), *members_[which]));
      // Sends and receives of a communicator in one group must name the same stream.
      const size_t stream = grouped ? which : random_() % streams_.size();
      pending_.back()->call(streamed ? streams_[stream] : nullptr);
    }
    if (grouped) expect_success(rondeGroupEnd(), "rondeGroupEnd");
    if (streamed && random_() % 2 == 0) one_waits_for_another();
    if (!streamed || random_() % 3 == 0) settle(streamed);
  }

  // All that were called have ended and are checked. What was on streams may still run behind calls that blocked.
  void settle(bool all_streams = true) {
    if (all_streams || random_() % 2 == 0) {
      for (rondeStream_t stream : streams_) expect_success(rondeStreamSynchronize(stream), "rondeStreamSynchronize");
      for (const auto& operation : pending_) operation->check();
      pending_.clear();
    }
  }

 private:
  void one_waits_for_another() {
    const size_t first = random_() % streams_.size();
    expect_success(rondeEventRecord(event_, streams_[first]), "rondeEventRecord");
    expect_success(rondeStreamWaitEvent(streams_[(first + 1) % streams_.size()], event_), "rondeStreamWaitEvent");
  }

  std::mt19937 random_;  // all that is drawn from it is equal on all ranks
  std::vector<std::unique_ptr<Member>> members_;
  std::array<rondeStream_t, 3> streams_{};
  rondeEvent_t event_ = nullptr;
  std::vector<std::unique_ptr<MixedOperation>> pending_;
};

void mix(Rank& rank, uint32_t seed) {
  rondeConfig_t over_tcp = RONDE_CONFIG_INITIALIZER;
  over_tcp.transport = "tcp";
  OwnedComm dup;
  OwnedComm backwards;
  expect_success(rondeCommDup(rank.comm(), &dup, nullptr), "rondeCommDup");
  expect_success(rondeCommSplit(rank.comm(), 0, -rank.number(), &backwards, &over_tcp), "rondeCommSplit");
  expect_place(backwards, kRanks - 1 - rank.number(), kRanks, "backwards");
  Mixer mixer(seed, {rank.comm(), dup, backwards});
  for (int batch = 0; batch < kBatches; ++batch) mixer.batch();
  mixer.settle();
}

}  // namespace

TEST_CASE("four threads, three communicators, operations of every kind mixed") {
  const std::vector<Way> ways = {{"inproc", true, "inproc,tcp"}, {"inproc, ring", true, "inproc,tcp", "ring"}};
  const uint64_t seeds = testing::how_many("TEST_MIXED_SEEDS", 1);
  for (uint64_t seed = 0; seed < seeds; ++seed) {
    for (const Way& way : ways) {
      CAPTURE(seed);
      CHECK(run_ranks({way, kRanks}, [seed](Rank& rank) { mix(rank, static_cast<uint32_t>(seed)); }) == "");
    }
  }
}

}  // namespace ronde::cases
