// The contract of control.h with real sockets, and with ranks of one process: one thread a rank.
#include "control/control.h"

#include <fmt/format.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <catch2/catch.hpp>
#include <condition_variable>
#include <deque>
#include <filesystem>
#include <map>
#include <thread>

namespace ronde {
namespace {

// What a rank has heard.
class Recorder {
 public:
  Watcher watcher() {
    Watcher watcher;
    watcher.failed = [this](const Status& why) { note([&] { failures_.push_back(why); }); };
    watcher.lost = [this](uint32_t rank) { note([&] { lost_.insert(rank); }); };
    watcher.left = [this](uint32_t rank, const std::string& who) { note([&] { left_[rank] = who; }); };
    watcher.late = [this](const LateNote& late) { note([&] { late_ = late; }); };
    watcher.whereabouts = [this](uint32_t sequence) {
      const std::scoped_lock lock(mutex_);
      Whereabouts here{begun_.sequence, std::nullopt};
      if (begun_.sequence == sequence) here.call = begun_;
      return here;
    };
    return watcher;
  }
  void begin(const CallNote& call) {
    note([&] { begun_ = call; });
  }
  std::string failure(Milliseconds limit = Milliseconds(3000)) {
    std::unique_lock lock(mutex_);
    changed_.wait_until(lock, Clock::now() + limit, [&] { return !failures_.empty(); });
    if (failures_.empty()) return "";
    return fmt::format("{} {}", static_cast<int>(failures_[0].code()), failures_[0].message());
  }
  std::optional<LateNote> late(Milliseconds limit = Milliseconds(3000)) {
    std::unique_lock lock(mutex_);
    changed_.wait_until(lock, Clock::now() + limit, [&] { return late_.has_value(); });
    return late_;
  }
  // How that rank is named, once it is known to have left.
  std::string left(uint32_t rank, Milliseconds limit = Milliseconds(3000)) {
    std::unique_lock lock(mutex_);
    changed_.wait_until(lock, Clock::now() + limit, [&] { return left_.contains(rank); });
    return left_.contains(rank) ? left_[rank] : "";
  }
  std::set<uint32_t> lost() {
    const std::scoped_lock lock(mutex_);
    return lost_;
  }
  size_t failures() {
    const std::scoped_lock lock(mutex_);
    return failures_.size();
  }

 private:
  template <typename Change>
  void note(Change change) {
    const std::scoped_lock lock(mutex_);
    change();
    changed_.notify_all();
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Status> failures_;
  std::set<uint32_t> lost_;
  std::map<uint32_t, std::string> left_;
  std::optional<LateNote> late_;
  CallNote begun_;
};

enum class Kind { one_process, each_its_own, two_a_process };

// Ranks as if in one process, or in several, each with an event loop and a table of its own.
class World {
 public:
  World(Kind kind, uint32_t nranks) : heard(nranks), controls_(nranks) {
    const uint32_t per_process = kind == Kind::one_process ? nranks : kind == Kind::each_its_own ? 1 : 2;
    for (uint32_t first = 0; first < nranks; first += per_process) processes_.push_back(std::make_unique<Process>());
    ControlOptions options;
    options.job = 77;
    options.nranks = nranks;
    options.within_process = kind == Kind::one_process;
    options.meeting.socket_ifname = "lo";
    options.meeting.socket_family = AF_INET;
    std::vector<Bytes> facts;
    for (uint32_t rank = 0; rank < nranks; ++rank) {
      options.rank = rank;
      Process& process = *processes_[rank / per_process];
      auto control = Control::enter(process.table, process.loop, options);
      REQUIRE(control.ok());
      controls_[rank] = std::move(*control);
      facts.push_back(controls_[rank]->facts());
    }
    std::vector<std::thread> threads;
    std::vector<Status> statuses(nranks);
    for (uint32_t rank = 0; rank < nranks; ++rank)
      threads.emplace_back([&, rank] {
        statuses[rank] =
            controls_[rank]->connect({facts.begin(), facts.end()}, Deadline::after(Milliseconds(10'000)), nullptr);
      });
    for (std::thread& thread : threads) thread.join();
    for (uint32_t rank = 0; rank < nranks; ++rank) {
      REQUIRE(statuses[rank].message() == "");
      controls_[rank]->watch(heard[rank].watcher());
    }
  }
  ~World() {
    for (auto& control : controls_)
      if (control) control->leave(0);
  }
  World(const World&) = delete;
  World& operator=(const World&) = delete;
  Control& operator[](uint32_t rank) { return *controls_[rank]; }
  void destroy(uint32_t rank) { controls_[rank].reset(); }
  [[nodiscard]] uint32_t nranks() const { return static_cast<uint32_t>(controls_.size()); }

  std::deque<Recorder> heard;

 private:
  struct Process {
    EventLoop loop;
    ControlTable table;
  };
  std::vector<std::unique_ptr<Process>> processes_;
  std::vector<std::unique_ptr<Control>> controls_;
};

Kind any_kind() { return GENERATE(Kind::one_process, Kind::each_its_own, Kind::two_a_process); }

size_t open_files() {
  size_t count = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) ++count;
  return count;
}

}  // namespace

TEST_CASE("control: ranks that leave in order hear of nothing, and their goodbyes arrive at once") {
  const Kind kind = any_kind();
  const uint32_t nranks = GENERATE(1u, 2u, 9u);
  World world(kind, nranks);
  const Time start = Clock::now();
  for (uint32_t rank = 0; rank < nranks; ++rank) {
    world[rank].leave(5);
    world[rank].leave(5);
    world[rank].settle(Deadline::after(Milliseconds(5000)));
    world.destroy(rank);
  }
  CHECK(Clock::now() - start < Milliseconds(2000));
  for (Recorder& recorder : world.heard) CHECK(recorder.failures() == 0);
}

TEST_CASE("control: a rank that ends without goodbye is a failure on all others, once, and known by number") {
  const Kind kind = any_kind();
  const uint32_t nranks = GENERATE(2u, 10u);
  World world(kind, nranks);
  world.destroy(1);
  for (uint32_t rank = 0; rank < nranks; ++rank) {
    if (rank == 1) continue;
    CHECK_THAT(world.heard[rank].failure(),
               Catch::StartsWith("100 rank 1 (pid ") && Catch::Contains("ended without saying goodbye"));
    CHECK(world.heard[rank].lost() == std::set<uint32_t>{1});
    CHECK(world.heard[rank].failures() == 1);
  }
}

TEST_CASE("control: who watches later hears what was before") {
  World world(any_kind(), 3);
  world.destroy(2);
  CHECK_FALSE(world.heard[0].failure().empty());
  Recorder later;
  world[0].watch(later.watcher());
  CHECK(later.lost() == std::set<uint32_t>{2});
}

TEST_CASE("control: a report reaches all others") {
  World world(any_kind(), 9);
  world[4].report({rondeRemoteError, "aborted the communicator"});
  for (uint32_t rank = 0; rank < 9; ++rank) {
    if (rank == 4) continue;
    CHECK_THAT(world.heard[rank].failure(),
               Catch::StartsWith("6 rank 4 (pid ") && Catch::EndsWith("): aborted the communicator"));
  }
  CHECK(world.heard[4].failures() == 0);
}

TEST_CASE("control: a long wait finds out who is late, and a rank that differs fails all") {
  World world(any_kind(), 6);
  const CallNote call{3, 1, "AllReduce A"};
  for (const uint32_t rank : {0u, 1u, 2u, 4u}) world.heard[rank].begin(call);
  world[0].waiting(call, WaitReason::long_wait);
  const std::optional<LateNote> note = world.heard[4].late();
  REQUIRE(note);
  CHECK(note->behind == std::vector<uint32_t>{3, 5});
  CHECK(note->silent.empty());
  world.heard[5].begin({3, 2, "AllReduce B"});
  world[5].waiting({3, 2, "AllReduce B"}, WaitReason::long_wait);
  for (Recorder& recorder : world.heard)
    CHECK_THAT(recorder.failure(), Catch::StartsWith("102 ") && Catch::Contains("ranks 0-2 and 4: AllReduce A") &&
                                       Catch::Contains("rank 5: AllReduce B"));
}

TEST_CASE("control: a wait for a rank that has left fails") {
  World world(any_kind(), 4);
  world[2].leave(6);
  world.heard[0].begin({7, 1, "AllReduce A"});
  // The goodbye may still be on its way.
  std::this_thread::sleep_for(Milliseconds(50));
  world[0].waiting({7, 1, "AllReduce A"}, WaitReason::long_wait);
  for (const uint32_t rank : {0u, 1u, 3u})
    CHECK_THAT(world.heard[rank].failure(), Catch::StartsWith("100 rank 2 (") && Catch::Contains("has left"));
}

TEST_CASE("control: messages that wait for each other are told of, and for a rank that has left") {
  Recorder later;  // hears of the end of the world, too
  World world(any_kind(), 10);
  world[2].leave(6);
  world[0].waiting({1, 0, "Recv from rank 1", false, {}, {1}}, WaitReason::long_wait);
  world[1].waiting({1, 0, "Recv from rank 0", false, {}, {0}}, WaitReason::long_wait);
  const auto is_circle = [&world](uint32_t rank) {
    const std::optional<LateNote> note = world.heard[rank].late();
    return note && note->waits.size() == 2 && note->behind.empty() && note->silent.empty();
  };
  const Deadline limit = Deadline::after(Milliseconds(20'000));
  // As ranks do while they wait: each asks again before a warning.
  while (!(is_circle(0) && is_circle(1)) && !limit.passed()) {
    std::this_thread::sleep_for(Milliseconds(100));
    world[0].waiting({1, 0, "Recv from rank 1", false, {}, {1}}, WaitReason::warning_due);
    world[1].waiting({1, 0, "Recv from rank 0", false, {}, {0}}, WaitReason::warning_due);
  }
  CHECK(is_circle(0));
  CHECK(is_circle(1));
  world[7].waiting({1, 0, "Recv from rank 2", false, {}, {2}}, WaitReason::long_wait);  // no neighbour of it
  CHECK_THAT(world.heard[7].left(2), Catch::StartsWith("rank 2 (pid "));
  world[7].watch(later.watcher());
  CHECK_FALSE(later.left(2).empty());
  for (Recorder& recorder : world.heard) CHECK(recorder.failures() == 0);
}

TEST_CASE("control: a callback may leave, and leave() ends all calls") {
  for (int round = 0; round < 10; ++round) {
    World world(round % 2 == 0 ? Kind::one_process : Kind::each_its_own, 3);
    std::atomic<bool> left = false;
    std::atomic<int> late_calls = 0;
    std::atomic<bool> told = false;
    Watcher watcher;
    watcher.failed = [&](const Status&) {
      if (left) ++late_calls;
    };
    world[0].watch(watcher);
    Watcher leaves;
    leaves.failed = [&](const Status&) {
      world[1].leave(0);
      told = true;
    };
    world[1].watch(leaves);
    std::thread leaver([&] {
      world[0].leave(0);
      left = true;
    });
    world.destroy(2);
    leaver.join();
    const Deadline limit = Deadline::after(Milliseconds(3000));
    while (!told && !limit.passed()) std::this_thread::sleep_for(Milliseconds(1));
    CHECK(told);
    std::this_thread::sleep_for(Milliseconds(2));
    CHECK(late_calls == 0);
  }
}

TEST_CASE("control: O(log n) connections a rank, no listener once all are joined, nothing left at the end") {
  const size_t before = open_files();
  {
    World world(Kind::each_its_own, 32);
    // Of each rank: at most 10 connections, one epoll descriptor; of each loop: two descriptors.
    CHECK(open_files() - before <= 32 * (10 + 1 + 2));
    CHECK(open_files() - before >= 32 * 8);
  }
  CHECK(open_files() == before);
}

TEST_CASE("control: ranks of one process need no connection at all") {
  const size_t before = open_files();
  World world(Kind::one_process, 64);
  CHECK(open_files() - before <= 4);
}

TEST_CASE("control: a rank that enters twice is refused") {
  EventLoop loop;
  ControlTable table;
  ControlOptions options;
  options.nranks = 2;
  options.within_process = true;
  const auto first = Control::enter(table, loop, options);
  REQUIRE(first.ok());
  const auto second = Control::enter(table, loop, options);
  REQUIRE_FALSE(second.ok());
  CHECK_THAT(second.status().message(), Catch::Contains("rank 0 lives in this process already"));
  options.rank = 1;
  options.nranks = 3;
  CHECK_THAT(Control::enter(table, loop, options).status().message(), Catch::Contains("one of 3"));
}

TEST_CASE("control: a neighbour that never comes is named at the deadline; a start that is given up ends at once") {
  EventLoop loop;
  EventLoop other_loop;
  ControlTable table;
  ControlTable other_table;
  ControlOptions options;
  options.nranks = 2;
  options.meeting.socket_ifname = "lo";
  options.meeting.socket_family = AF_INET;
  const auto first = Control::enter(table, loop, options);
  options.rank = 1;
  const auto second = Control::enter(other_table, other_loop, options);
  REQUIRE(first.ok());
  REQUIRE(second.ok());
  const std::vector<Bytes> told{(*first)->facts(), (*second)->facts()};
  const std::vector<ByteView> facts(told.begin(), told.end());
  const Status status = (*second)->connect(facts, Deadline::after(Milliseconds(300)), nullptr);
  CHECK(status.code() == rondeTimedOut);
  CHECK_THAT(status.message(), Catch::Contains("rank 0"));
  OnceFlag stop;
  stop.set();
  CHECK((*second)->connect(facts, Deadline::after(Milliseconds(10'000)), &stop).code() == rondeAborted);
}

}  // namespace ronde
