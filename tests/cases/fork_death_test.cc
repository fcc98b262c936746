// Situations 10 and 11 together: a rank dies whose forked children sleep on, as the workers of a data loader do.
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <catch2/catch.hpp>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "cases/support/open_files.h"
#include "cases/support/ranks.h"

namespace ronde::cases {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kRanks = 4;
constexpr int kSleepers = 2;
constexpr int kSleeperLimitS = 60;
constexpr size_t kCount = size_t{4} << 20;
constexpr std::chrono::milliseconds kNoticeLimit{2000};

// Between the test, the ranks and the sleepers.
struct Board {
  std::atomic<bool> sleepers_may_end;
  std::atomic<int> sleepers;
  std::atomic<Clock::rep> killed_at;
  std::atomic<Clock::rep> longest;  // between the kill and its notice
};

class SharedBoard {
 public:
  SharedBoard() {
    void* const page = mmap(nullptr, sizeof(Board), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (page == MAP_FAILED) throw std::runtime_error("mmap failed");
    board_ = new (page) Board{};
  }
  ~SharedBoard() {
    board_->sleepers_may_end = true;
    const auto limit = Clock::now() + std::chrono::seconds(5);
    while (board_->sleepers > 0 && Clock::now() < limit) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    munmap(board_, sizeof(Board));
  }
  SharedBoard(const SharedBoard&) = delete;
  SharedBoard& operator=(const SharedBoard&) = delete;
  Board* operator->() const { return board_; }
  Board& operator*() const { return *board_; }

 private:
  Board* board_;
};

[[noreturn]] void sleep_on(Board& board) {
  alarm(kSleeperLimitS);
  for (int number = STDERR_FILENO + 1; number < 256; ++number) {
    char name[8] = {};
    const std::string path = "/proc/self/fd/" + std::to_string(number);
    // The pipe through which the rank would report: the test waits for its end.
    if (readlink(path.c_str(), name, 5) == 5 && std::strcmp(name, "pipe:") == 0) close(number);
  }
  ++board.sleepers;
  while (!board.sleepers_may_end) usleep(1000);
  --board.sleepers;
  _exit(0);
}

void fork_sleepers(Board& board) {
  for (int i = 0; i < kSleepers; ++i) {
    const pid_t pid = fork();
    expect(pid >= 0, "fork failed");
    if (pid == 0) sleep_on(board);
  }
  while (board.sleepers < kSleepers) std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

void kill_self_after(Board& board, std::chrono::microseconds wait) {
  std::thread([&board, wait] {
    std::this_thread::sleep_for(wait);
    board.killed_at = Clock::now().time_since_epoch().count();
    kill(getpid(), SIGKILL);
  }).detach();
}

void check_notice(Board& board, Rank& rank, int victim) {
  const Clock::duration took = Clock::now().time_since_epoch() - Clock::duration(board.killed_at.load());
  const std::string text = rondeGetLastError(rank.comm());
  expect(text.find("rank " + std::to_string(victim)) != std::string::npos, "it is not named: " + text);
  expect(board.killed_at != 0, "lost before it was killed: " + text);
  expect(took < kNoticeLimit, "noticed after " + std::to_string(took.count() / 1'000'000) + " ms");
  Clock::rep longest = board.longest;
  while (took.count() > longest && !board.longest.compare_exchange_weak(longest, took.count())) {
  }
}

void sums_until_it_dies(Board& board, Rank& rank, int victim) {
  std::vector<float> values(kCount, 1);
  for (int round = 0;; ++round) {
    if (round == 2 && rank.number() == victim) {
      fork_sleepers(board);
      kill_self_after(board, std::chrono::microseconds(5000 + std::rand() % 5000));
    }
    expect(round < 100'000, "operations go on without the rank");
    const rondeResult_t result = rank.all_reduce(values.data(), values.data(), values.size(), rondeFloat32, rondeMax);
    if (result == rondeSuccess) continue;
    expect(result == rondePeerLost, "instead of peer lost: " + std::string(rondeGetErrorString(result)));
    return check_notice(board, rank, victim);
  }
}

// The others compute, and only ask now and then.
void idle_until_it_dies(Board& board, Rank& rank, int victim) {
  float value = 1;
  expect_success(rank.all_reduce(&value, &value, 1, rondeFloat32, rondeMax), "the first operation");
  if (rank.number() == victim) {
    fork_sleepers(board);
    kill_self_after(board, std::chrono::microseconds(1000));
  }
  const auto limit = Clock::now() + std::chrono::seconds(20);
  rondeResult_t error = rondeSuccess;
  while (error == rondeSuccess && Clock::now() < limit) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    expect_success(rondeCommGetAsyncError(rank.comm(), &error), "rondeCommGetAsyncError");
  }
  expect(error == rondePeerLost, "instead of peer lost: " + std::string(rondeGetErrorString(error)));
  check_notice(board, rank, victim);
}

void check_death(void (*body)(Board&, Rank&, int), const char* what) {
  for (const Way& way : {Way{"shm", false, "shm"}, Way{"tcp", false, "tcp"}, Way{"tcp, star", false, "tcp", "star"}}) {
    for (const int victim : {1, 0, 3}) {
      const SharedBoard board;
      const World world{way, kRanks};
      const std::string outcome = run_ranks(world, [&](Rank& rank) { body(*board, rank, victim); });
      CHECK(outcome ==
            way.name + ", 4 ranks:\nprocess of rank " + std::to_string(victim) + " was killed by signal 9\n");
      CHECK(board->sleepers == kSleepers);  // they have outlived it all
      std::printf("%s, %s, rank %d: noticed after %.1f ms at most\n", way.name.c_str(), what, victim,
                  std::chrono::duration<double, std::milli>(Clock::duration(board->longest.load())).count());
    }
  }
}

}  // namespace

TEST_CASE("case_10_11_sleeping_children_hide_no_death: in operations") { check_death(sums_until_it_dies, "busy"); }

TEST_CASE("case_10_11_sleeping_children_hide_no_death: between operations") { check_death(idle_until_it_dies, "idle"); }

}  // namespace ronde::cases
