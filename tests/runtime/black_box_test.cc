#include "runtime/black_box.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstring>
#include <filesystem>
#include <memory>
#include <new>
#include <string>
#include <system_error>
#include <vector>

#include "runtime/black_box_reader.h"
#include "runtime/call_log.h"
#include "runtime/life_log.h"

namespace ronde {
namespace {

Fd memory_file() { return Fd(::memfd_create(black_box::kMemoryName, MFD_CLOEXEC | MFD_ALLOW_SEALING)); }

// A box whose file the test holds too.
struct SharedBox {
  Fd file = memory_file();
  BlackBox box{::fcntl(file.get(), F_DUPFD_CLOEXEC, 3)};

  [[nodiscard]] BlackBoxRecording read(size_t operations = black_box::kOperations) const {
    auto recording = read_black_box(file.get(), operations, Clock::now());
    REQUIRE(recording.ok());
    return std::move(*recording);
  }
};

using black_box::OperationState;
using black_box::Phase;

OperationArgs floats(size_t count) { return {nullptr, nullptr, count, rondeFloat32, rondeMax}; }

// Whether a file was taken over, told by the number of its writer.
uint32_t writer_of(const Fd& file) {
  const auto recording = read_black_box(file.get(), 1, Clock::now());
  return recording.ok() ? recording->pid : 0;
}

}  // namespace

TEST_CASE("who holds the file reads what the ranks did, the last operation first") {
  SharedBox shared;
  const auto area = shared.box.area_for(77, 2, 5, "a name");
  CallLog log(area, 9);
  CHECK(shared.read().ranks.at(0).operations.empty());
  LifeLog(area).enter(Phase::working);
  CHECK(describe_activity(shared.read().ranks.at(0), Clock::now()) == "before its first operation");
  CallLog::end(log.begin(floats(100), 10, 1, plan::Algorithm::ring), OperationState::ended);
  black_box::OperationRecord& record = log.begin(floats(200), 11, 2, plan::Algorithm::two_shot);

  BlackBoxRecording recording = shared.read();
  CHECK(recording.pid == static_cast<uint32_t>(getpid()));
  CHECK_FALSE(recording.host.empty());
  REQUIRE(recording.ranks.size() == 1);
  const RecordedRank& rank = recording.ranks[0];
  CHECK(rank.job == 77);
  CHECK(rank.name == "a name");
  CHECK((rank.rank == 2 && rank.nranks == 5 && rank.in_use));
  REQUIRE(rank.operations.size() == 2);
  CHECK(rank.operations[0].sequence == 11);
  CHECK(rank.operations[0].state == black_box::OperationState::running);
  CHECK_FALSE(rank.operations[0].wait);
  CHECK(rank.operations[1].state == black_box::OperationState::ended);
  CHECK(rank.operations[1].ended >= rank.operations[1].begun);
  CHECK(describe(rank.operations[1]) == "AllReduce (float32, max, 100 elements) number 10 by ring");
  const Time later = rank.operations[0].begun + Milliseconds(2500);
  CHECK(describe_activity(rank, later) == "in AllReduce (float32, max, 200 elements) number 11 by two_shot for 2.5 s");

  CallLog::note_wait(record, waits_for_rank(3), {3, 4});
  const std::string waiting = describe_activity(shared.read(1).ranks.at(0), later);
  CHECK_THAT(waiting, Catch::EndsWith(" for 2.5 s, 75 % done, waits for rank 3"));
  CallLog::end(record, OperationState::failed);
  LifeLog(area).fail(Status(rondePeerLost, "rank 3 is gone"));
  recording = shared.read();
  CHECK(recording.ranks.at(0).failure == "rank 3 is gone");
  CHECK_THAT(describe_activity(recording.ranks[0], Clock::now()), Catch::Contains("number 11 by two_shot, failed 0.0"));
}

TEST_CASE("collectives of every kind, and messages, are told as they were called") {
  SharedBox shared;
  CallLog log(shared.box.area_for(1, 0, 4, ""), 0);
  const auto told = [&](OperationArgs args) {
    static uint32_t number = 0;
    CallLog::end(log.begin(args, ++number, 1, plan::Algorithm::exchange), OperationState::ended);
    return describe(shared.read().ranks.at(0).operations.at(0).args);
  };
  OperationArgs args = floats(7);
  args.root = 3;
  args.what = Collective::broadcast;
  CHECK(told(args) == "Broadcast (float32, root 3, 7 elements)");
  args.what = Collective::reduce;
  args.op = rondeBitXor;
  CHECK(told(args) == "Reduce (float32, bit_xor, root 3, 7 elements)");
  args.op = kPreMulSum;
  args.what = Collective::reduce_scatter;
  CHECK(told(args) == "ReduceScatter (float32, pre_mul_sum, 7 elements a rank)");
  args.uneven = true;
  CHECK(told(args) == "ReduceScatterV (float32, pre_mul_sum, 7 elements in all)");
  args.what = Collective::all_to_all;
  CHECK(told(args) == "AlltoAllV (float32)");
  args = {};
  args.what = Collective::barrier;
  CHECK(told(args) == "Barrier");
  args.what = Collective::send_receive;
  args.count = 4096;
  args.root = 2;
  args.messages_kind = MessagesKind::receive;
  CHECK(told(args) == "Recv (4096 bytes from rank 2)");
  CHECK(log.begun() == 6);  // messages are not numbered among collectives
}

TEST_CASE("what a rank does outside operations is told, and since when") {
  SharedBox shared;
  auto area = shared.box.area_for(1, 0, 2, "");
  LifeLog life(area);
  const auto activity = [&] {
    const RecordedRank rank = shared.read().ranks.at(0);
    return describe_activity(rank, rank.phase_since + Milliseconds(1500));
  };
  CHECK(activity() == "in start-up for 1.5 s, waits for the meeting point or for other ranks");
  life.enter(Phase::linking);
  CHECK(activity() == "in start-up for 1.5 s, makes its links");
  life.enter(Phase::working);
  CHECK(activity() == "before its first operation");
  life.enter(Phase::shrinking);
  CHECK(activity() == "in rondeCommShrink for 1.5 s");
  CHECK(last_moment_in(shared.file.get()) == shared.read().ranks.at(0).phase_since);
  life.enter(Phase::finalized);
  life.enter(Phase::working);
  CHECK(activity() == "said goodbye 1.5 s ago");
  CallLog log(area, 0);
  CallLog::end(log.begin(floats(1), 1, 1, plan::Algorithm::ring), OperationState::failed);
  CHECK_THAT(activity(), Catch::StartsWith("said goodbye 1.5 s ago; of its operations the last one, AllReduce") &&
                             Catch::Contains("failed"));

  area = shared.box.area_for(2, 0, 2, "");
  LifeLog(area).fail(Status(rondePeerLost, std::string(2000, 'x')));
  area.reset();
  CHECK(shared.read().ranks.at(1).failure == std::string(1023, 'x'));
  CHECK(describe_activity(shared.read().ranks.at(1), Clock::now()) == "did not start");
}

TEST_CASE("a wait that was noted long ago is none any more") {
  SharedBox shared;
  CallLog log(shared.box.area_for(1, 0, 2, ""), 0);
  CallLog::note_wait(log.begin(floats(1), 1, 1, plan::Algorithm::ring), kWaitsForAny, {0, 0});
  CHECK(shared.read().ranks[0].operations[0].wait);
  const auto later = read_black_box(shared.file.get(), 1, Clock::now() + std::chrono::seconds(2));
  REQUIRE(later.ok());
  CHECK_FALSE(later->ranks[0].operations[0].wait);
}

TEST_CASE("the last operations are kept, also where numbers overflow") {
  SharedBox shared;
  const uint32_t first = 0xffffff80;
  CallLog log(shared.box.area_for(1, 0, 2, ""), first);
  for (uint32_t i = 1; i <= 1000; ++i) {
    CallLog::end(log.begin(floats(i), first + i, i, plan::Algorithm::ring), OperationState::ended);
  }
  const auto operations = shared.read().ranks.at(0).operations;
  REQUIRE(operations.size() == black_box::kOperations);
  for (uint32_t i = 0; i < operations.size(); ++i) {
    CHECK(operations[i].sequence == first + 1000 - i);
    CHECK(operations[i].args.count == 1000 - i);
  }
}

TEST_CASE("communicators that have ended stay readable for a while, and their room is used again") {
  SharedBox shared;
  for (uint32_t i = 0; i < 100; ++i) {
    CallLog log(shared.box.area_for(i, 0, 2, ""), 0);
    log.begin(floats(i), 1, 1, plan::Algorithm::ring);
  }
  const auto recording = shared.read();
  CHECK(recording.ranks.size() < 16);
  CHECK(std::any_of(recording.ranks.begin(), recording.ranks.end(), [](const auto& rank) { return rank.job == 99; }));
  for (const RecordedRank& rank : recording.ranks) {
    CHECK_FALSE(rank.in_use);
    CHECK(rank.operations.size() == 1);
  }
  // A new one shows nothing of who had its room before.
  const auto area = shared.box.area_for(100, 0, 2, "");
  const auto again = shared.read();
  const auto fresh = std::find_if(again.ranks.begin(), again.ranks.end(), [](const auto& rank) { return rank.in_use; });
  REQUIRE(fresh != again.ranks.end());
  CHECK(fresh->operations.empty());
}

TEST_CASE("an area outlives its box") {
  auto shared = std::make_unique<SharedBox>();
  const auto area = shared->box.area_for(1, 0, 2, "");
  shared.reset();
  CallLog log(area, 0);
  log.begin(floats(1), 1, 1, plan::Algorithm::ring);
  CHECK(log.begun() == 1);
}

TEST_CASE("a file goes to the next process when its writer has ended, and never to two that live") {
  const Fd file = memory_file();
  const auto write_as_child = [&file](int seconds) {
    const pid_t child = fork();
    if (child == 0) {
      {
        BlackBox box(::fcntl(file.get(), F_DUPFD_CLOEXEC, 3));
        CallLog log(box.area_for(5, 1, 2, "the child's"), 0);
        sleep(static_cast<unsigned>(seconds));
      }
      _exit(0);
    }
    return child;
  };
  const pid_t living = write_as_child(60);
  const auto deadline = Deadline::after(Milliseconds(20'000));
  const auto has_a_rank = [&file] {
    const auto recording = read_black_box(file.get(), 1, Clock::now());
    return recording.ok() && !recording->ranks.empty();
  };
  while (!has_a_rank() && !deadline.passed()) usleep(1000);
  {
    BlackBox other(::fcntl(file.get(), F_DUPFD_CLOEXEC, 3));
    const auto area = other.area_for(6, 0, 2, "");
    CHECK(area != nullptr);
    CHECK(writer_of(file) == static_cast<uint32_t>(living));
  }
  kill(living, SIGKILL);
  waitpid(living, nullptr, 0);
  const auto left = read_black_box(file.get(), 1, Clock::now());
  REQUIRE(left.ok());
  CHECK(left->ranks.at(0).name == "the child's");  // it outlives its process
  BlackBox next(::fcntl(file.get(), F_DUPFD_CLOEXEC, 3));
  CHECK(writer_of(file) == static_cast<uint32_t>(getpid()));
  CHECK(read_black_box(file.get(), 1, Clock::now())->ranks.empty());
  const auto area = next.area_for(7, 0, 2, "the next one's");
  CHECK(read_black_box(file.get(), 1, Clock::now())->ranks.at(0).name == "the next one's");
}

TEST_CASE("boxes of others are kept: the last few, each once, never the own one") {
  const auto holders_of = [](const std::string& name) {
    size_t count = 0;
    for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
      std::error_code gone;
      if (std::filesystem::read_symlink(entry.path(), gone).string().find(name) != std::string::npos) ++count;
    }
    return count;
  };
  BlackBox box;
  const auto give = [&](int number) {
    const std::string name = "box-of-another-" + std::to_string(number);
    box.keep(std::make_shared<const Fd>(::memfd_create(name.c_str(), MFD_CLOEXEC)));
    return name;
  };
  box.keep(nullptr);
  const std::string first = give(0);
  CHECK(holders_of(first) == 1);
  const auto twice = std::make_shared<const Fd>(::memfd_create("box-given-twice", MFD_CLOEXEC));
  box.keep(twice);
  box.keep(std::make_shared<const Fd>(::dup(twice->get())));
  CHECK(holders_of("box-given-twice") == 2);  // the last one given, and this test's own
  for (int number = 1; number <= 4; ++number) CHECK(holders_of(give(number)) == 1);
  CHECK(holders_of(first) == 0);
  const size_t own = holders_of(black_box::kMemoryName);
  box.keep(std::make_shared<const Fd>(::dup(box.for_others())));
  CHECK(holders_of(black_box::kMemoryName) == own);
}

TEST_CASE("what is no black box is refused, and a wild one harms nobody") {
  const Time now = Clock::now();
  CHECK_FALSE(read_black_box(-1, 1, now).ok());
  const Fd file = memory_file();
  CHECK_FALSE(read_black_box(file.get(), 1, now).ok());
  SharedBox shared;
  const auto area = shared.box.area_for(1, 0, 2, "");
  CallLog log(area, 0);
  for (uint32_t i = 1; i <= black_box::kOperations; ++i) log.begin(floats(1), i, 1, plan::Algorithm::ring);

  std::vector<uint8_t> bytes(sizeof(black_box::Head) + 2 * sizeof(black_box::Area));
  REQUIRE(::pread(shared.file.get(), bytes.data(), bytes.size(), 0) > 0);
  uint32_t state = 7;
  const auto noise = [&state] { return (state = state * 1664525 + 1013904223) >> 8; };
  for (int round = 0; round < 300; ++round) {
    std::vector<uint8_t> wild = bytes;
    for (int i = 0; i < 200; ++i) {  // around numbers, and anywhere; the magic stays
      const size_t at = 8 + noise() % (i % 2 == 0 ? 64 : wild.size() - 8);
      wild[i % 3 == 0 ? at : sizeof(black_box::Head) + at % (wild.size() - sizeof(black_box::Head))] =
          static_cast<uint8_t>(noise());
    }
    if (round % 2 == 0) std::memcpy(wild.data(), bytes.data(), 24);
    const Fd copy = memory_file();
    REQUIRE(::pwrite(copy.get(), wild.data(), wild.size() - noise() % 100, 0) > 0);
    const auto recording = read_black_box(copy.get(), black_box::kOperations, now);
    if (!recording.ok()) continue;
    for (const RecordedRank& rank : recording->ranks) CHECK_FALSE(describe_activity(rank, now).empty());
  }
}

}  // namespace ronde
