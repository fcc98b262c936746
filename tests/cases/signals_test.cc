// Situation 22: signals of the program that uses the library.
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

#include <atomic>
#include <catch2/catch.hpp>
#include <csignal>
#include <string>
#include <vector>

#include "cases/support/elements.h"
#include "cases/support/ranks.h"
#include "support/sanitizers.h"

namespace ronde::cases {
namespace {

std::atomic<int> alarms{0};

void on_alarm(int /*signal*/) { alarms.fetch_add(1, std::memory_order_relaxed); }

// Not by _exit, where the thread sanitizer looks for threads that nobody has joined.
void end_process() { ::syscall(SYS_exit_group, 0); }

// A handler that interrupts system calls, each millisecond.
void start_timer() {
  struct sigaction action = {};
  action.sa_handler = on_alarm;
  sigemptyset(&action.sa_mask);
  action.sa_flags = 0;  // no SA_RESTART
  expect(sigaction(SIGALRM, &action, nullptr) == 0, "sigaction failed");
  const itimerval each_ms = {{0, 1000}, {0, 1000}};
  expect(setitimer(ITIMER_REAL, &each_ms, nullptr) == 0, "setitimer failed");
}

void stop_timer_and_check() {
  const itimerval never = {};
  setitimer(ITIMER_REAL, &never, nullptr);
  expect(alarms.load() > 10, "the timer hardly ever fired: " + std::to_string(alarms.load()));
  struct sigaction now = {};
  sigaction(SIGALRM, nullptr, &now);
  expect(now.sa_handler == on_alarm && (now.sa_flags & SA_RESTART) == 0, "the handler was changed");
  for (const int number : {SIGPIPE, SIGINT, SIGTERM, SIGCHLD, SIGUSR1, SIGUSR2, SIGSEGV, SIGBUS}) {
    sigaction(number, nullptr, &now);
    expect(now.sa_handler == SIG_DFL, "signal " + std::to_string(number) + " is no longer at its default");
  }
}

void default_signals() {
  for (const int number : {SIGPIPE, SIGINT, SIGTERM, SIGCHLD, SIGUSR1, SIGUSR2, SIGSEGV, SIGBUS}) {
    signal(number, SIG_DFL);
  }
}

constexpr int kRounds = testing::kSanitizer ? 40 : 200;

void many_of_a_mebibyte(Rank& rank) {
  constexpr size_t kCount = (1 << 20) / sizeof(float);
  const std::vector<float> input(kCount, static_cast<float>(rank.number() + 1));
  std::vector<float> result(kCount);
  const float right = static_cast<float>(rank.nranks() * (rank.nranks() + 1)) / 2;
  for (int round = 0; round < kRounds; ++round) {
    result.assign(kCount, -1);
    expect_success(rank.all_reduce(input.data(), result.data(), kCount, rondeFloat32, rondeSum),
                   "round " + std::to_string(round));
    for (const float value : result) {
      if (value != right) throw Unexpected("round " + std::to_string(round) + ": the sum is wrong");
    }
  }
}

}  // namespace

TEST_CASE("case_22_interrupted_system_calls") {
  for (const Way& way : pairwise_ways()) {
    World world{way, 3};
    world.before = [] {
      default_signals();
      start_timer();
    };
    world.after = stop_timer_and_check;
    CHECK(run_ranks(world, many_of_a_mebibyte) == "");
  }
}

// The writer must meet a closed connection, not find out before: so the rank goes in the middle of large operations.
TEST_CASE("case_22_a_peer_that_goes_is_no_death_by_sigpipe") {
  for (const Way& way :
       {Way{"tcp", false, "tcp"}, Way{"tcp, star, stream", false, "tcp", "star", true}, Way{"shm", false, "shm"}}) {
    World world{way, 3};
    world.before = default_signals;
    CHECK(run_ranks(world, [](Rank& rank) {
            std::vector<float> values(1 << 20, 0);
            for (int round = 0; round < 10'000; ++round) {
              if (rank.number() == 1 && round == 20) end_process();
              const rondeResult_t result =
                  rank.all_reduce(values.data(), values.data(), values.size(), rondeFloat32, rondeMax);
              if (result == rondeSuccess) continue;
              expect(round >= 19, "failed before rank 1 went: " + std::string(rondeGetLastError(rank.comm())));
              expect(result == rondePeerLost, "instead of peer lost: " + std::string(rondeGetErrorString(result)));
              const std::string text = rondeGetLastError(rank.comm());
              expect(text.find("rank 1") != std::string::npos, "rank 1 is not named: " + text);
              return;
            }
            throw Unexpected("10,000 operations succeeded without rank 1");
          }) == "");
  }
}

}  // namespace ronde::cases
