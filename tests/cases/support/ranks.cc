#include "cases/support/ranks.h"

#include <poll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <mutex>
#include <thread>

#include "cases/support/child.h"

namespace ronde::cases {
namespace {

constexpr int kMostRanks = 64;

// Shared by the processes of a world.
struct Meeting {
  std::atomic<int> id_is_there;
  rondeUniqueId id;
  uint64_t digests[kMostRanks];  // each written by its rank, read when all have ended
};

class SharedMeeting {
 public:
  SharedMeeting() {
    void* page = mmap(nullptr, sizeof(Meeting), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (page == MAP_FAILED) throw std::runtime_error("mmap failed");
    meeting_ = new (page) Meeting{};
  }
  ~SharedMeeting() { munmap(meeting_, sizeof(Meeting)); }
  SharedMeeting(const SharedMeeting&) = delete;
  SharedMeeting& operator=(const SharedMeeting&) = delete;
  Meeting& operator*() const { return *meeting_; }

 private:
  Meeting* meeting_;
};

void obtain_id(Meeting& meeting, bool maker) {
  if (maker) {
    expect_success(rondeGetUniqueId(&meeting.id), "rondeGetUniqueId");
    meeting.id_is_there.store(1, std::memory_order_release);
  }
  while (meeting.id_is_there.load(std::memory_order_acquire) == 0) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

void run_rank(const World& world, Meeting& meeting, int number, const Body& body) {
  rondeComm_t comm = nullptr;
  expect_success(rondeCommInitRank(&comm, world.nranks, meeting.id, number), "rondeCommInitRank");
  rondeStream_t stream = nullptr;
  if (world.way.on_stream) expect_success(rondeStreamCreate(&stream), "rondeStreamCreate");
  Rank rank(number, world.nranks, comm, stream);
  body(rank);
  meeting.digests[number] = rank.digest();
  expect_success(rondeStreamDestroy(stream), "rondeStreamDestroy");
  expect_success(rondeCommDestroy(comm), "rondeCommDestroy");
}

// "" or what was unexpected. A rank that fails leaves its communicator as it is: its process ends.
std::string outcome_of_rank(const World& world, Meeting& meeting, int number, const Body& body) {
  try {
    run_rank(world, meeting, number, body);
    return "";
  } catch (const std::exception& error) {
    return "rank " + std::to_string(number) + ": " + error.what() + "\n";
  }
}

// Outlives the threads that hang.
struct ThreadOutcomes {
  std::mutex mutex;
  std::string text;
  int left = 0;
};

std::string outcome_of_threads(const World& world, Meeting& meeting, const Body& body) {
  const auto outcomes = std::make_shared<ThreadOutcomes>();
  outcomes->left = world.nranks;
  std::vector<std::thread> threads;
  for (int number = 0; number < world.nranks; ++number) {
    threads.emplace_back([&world, &meeting, &body, number, outcomes] {
      const std::string outcome = outcome_of_rank(world, meeting, number, body);
      const std::scoped_lock lock(outcomes->mutex);
      outcomes->text += outcome;
      --outcomes->left;
    });
  }
  // The others may wait for ever for a rank that has failed: they get a while, then the process tells what it knows.
  for (int waited_ms = 0; waited_ms < 2000; ++waited_ms) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    const std::scoped_lock lock(outcomes->mutex);
    if (outcomes->left == 0) break;
    if (outcomes->text.empty()) waited_ms = 0;
  }
  const std::scoped_lock lock(outcomes->mutex);
  const bool all_ended = outcomes->left == 0;
  for (std::thread& thread : threads) all_ended ? thread.join() : thread.detach();
  return outcomes->text;
}

std::string run_process(const World& world, Meeting& meeting, int number, const Body& body) {
  for (const auto& [name, value] : world.settings) setenv(name.c_str(), value.c_str(), 1);
  setenv("RONDE_TRANSPORT", world.way.transport.c_str(), 0);
  setenv("RONDE_ALGO", world.way.algorithm.c_str(), 0);
  try {
    if (world.before) world.before();
    obtain_id(meeting, number == 0);
    const std::string outcome =
        world.way.threads ? outcome_of_threads(world, meeting, body) : outcome_of_rank(world, meeting, number, body);
    if (outcome.empty() && world.after) world.after();
    return outcome;
  } catch (const std::exception& error) {
    return "process of rank " + std::to_string(number) + ": " + error.what() + "\n";
  }
}

std::string compare_digests(const World& world, const Meeting& meeting) {
  for (int number = 1; number < world.nranks; ++number) {
    if (meeting.digests[number] == meeting.digests[0]) continue;
    return "ranks 0 and " + std::to_string(number) + " have different bits\n";
  }
  return "";
}

}  // namespace

const std::vector<Way>& pairwise_ways() {
  static const std::vector<Way> ways = {{"inproc, blocking", true, "inproc"},
                                        {"inproc, ring, stream", true, "inproc", "ring", true},
                                        {"shm, stream", false, "shm", "auto", true},
                                        {"shm, ring, blocking", false, "shm", "ring"},
                                        {"tcp, blocking", false, "tcp"},
                                        {"tcp, star, stream", false, "tcp", "star", true},
                                        {"tcp threads, stream", true, "tcp", "auto", true}};
  return ways;
}

const std::vector<Way>& all_paths() {
  static const std::vector<Way> ways = [] {
    std::vector<Way> all = pairwise_ways();
    for (const char* algorithm : {"one_shot", "two_shot", "star"}) {
      all.push_back({std::string("shm, ") + algorithm, false, "shm", algorithm});
      all.push_back({std::string("inproc, stream, ") + algorithm, true, "inproc", algorithm, true});
    }
    return all;
  }();
  return ways;
}

void expect(bool condition, const std::string& what) {
  if (!condition) throw Unexpected(what);
}

void expect_success(rondeResult_t result, const std::string& what) {
  if (result == rondeSuccess) return;
  throw Unexpected(what + ": " + rondeGetErrorString(result) + ": " + rondeGetLastError(nullptr));
}

rondeResult_t Rank::all_reduce(const void* send, void* receive, size_t count, rondeDataType_t type, rondeRedOp_t op) {
  const rondeResult_t called = rondeAllReduce(send, receive, count, type, op, comm_, stream_);
  if (called != rondeSuccess || stream_ == nullptr) return called;
  return rondeStreamSynchronize(stream_);
}

void Rank::must_be_equal_everywhere(const void* bytes, size_t size) {
  const auto* at = static_cast<const unsigned char*>(bytes);
  for (size_t i = 0; i < size; ++i) digest_ = (digest_ ^ at[i]) * 0x100000001b3ull + 1;
}

std::string run_ranks(const World& world, const Body& body) {
  if (world.nranks > kMostRanks) return "more ranks than the test's support knows\n";
  const SharedMeeting meeting;
  std::vector<Child> children;
  const int processes = world.way.threads ? 1 : world.nranks;
  for (int number = 0; number < processes; ++number) {
    children.emplace_back([&, number] { return run_process(world, *meeting, number, body); });
  }
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(world.deadline_s);
  std::string all;
  for (size_t number = 0; number < children.size(); ++number) {
    all += children[number].end_by(deadline, "process of rank " + std::to_string(number));
  }
  if (all.empty()) all = compare_digests(world, *meeting);
  return all.empty() ? "" : world.way.name + ", " + std::to_string(world.nranks) + " ranks:\n" + all;
}

}  // namespace ronde::cases
