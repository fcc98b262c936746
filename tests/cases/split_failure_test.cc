// What goes wrong while communicators are split: with the parent it is everybody's, else it stays in its color.
#include <sys/resource.h>
#include <unistd.h>

#include <atomic>
#include <catch2/catch.hpp>
#include <chrono>
#include <string>
#include <thread>

#include "cases/support/children.h"
#include "cases/support/open_files.h"
#include "cases/support/ranks.h"
#include "support/sanitizers.h"

namespace ronde::cases {
namespace {

using Clock = std::chrono::steady_clock;

void expect_text(const std::string& part) {
  const std::string text = rondeGetLastError(nullptr);
  expect(text.find(part) != std::string::npos, "no '" + part + "' in: " + text);
}

// Of a communicator that another rank ends; this one calls nothing meanwhile.
rondeResult_t failure_from_elsewhere(rondeComm_t comm) {
  rondeResult_t error = rondeSuccess;
  while (error == rondeSuccess) {
    expect_success(rondeCommGetAsyncError(comm, &error), "rondeCommGetAsyncError");
    std::this_thread::yield();
  }
  return error;
}

// While it lives this process opens no further files, but a few.
class NoMoreFiles {
 public:
  explicit NoMoreFiles(int but = 0) {
    getrlimit(RLIMIT_NOFILE, &before_);
    rlimit few = before_;
    few.rlim_cur = static_cast<rlim_t>(OpenFiles::now().greatest_number() + 1 + but);
    // Holes below are filled first.
    setrlimit(RLIMIT_NOFILE, &few);
    for (int fd = dup(0); fd >= 0; fd = dup(0)) fillers_[count_++] = fd;
    for (int i = 0; i < but && count_ > 0; ++i) close(fillers_[--count_]);
  }
  ~NoMoreFiles() {
    setrlimit(RLIMIT_NOFILE, &before_);
    for (int i = 0; i < count_; ++i) close(fillers_[i]);
  }
  NoMoreFiles(const NoMoreFiles&) = delete;
  NoMoreFiles& operator=(const NoMoreFiles&) = delete;

 private:
  rlimit before_{};
  int fillers_[1024]{};
  int count_ = 0;
};

}  // namespace

TEST_CASE("a rank that calls something else while the others split is an error on all within 2 s") {
  for (const std::string transport : {"shm", "tcp"}) {
    CHECK(run_ranks({{transport, false, transport}, 4}, [](Rank& rank) {
            const auto begin = Clock::now();
            int value = 1;
            OwnedComm made;
            rondeResult_t result = rank.number() == 2
                                       ? rondeAllReduce(&value, &value, 1, rondeInt32, rondeSum, rank.comm(), nullptr)
                                       : rondeCommSplit(rank.comm(), 0, 0, &made, nullptr);
            // A rank that needs nothing of the others has ended well, and hears of it in its next call.
            if (result == rondeSuccess) result = rondeBarrier(rank.comm(), nullptr);
            expect(result == rondeMismatch,
                   std::string("not a mismatch: ") + rondeGetErrorString(result) + ": " + rondeGetLastError(nullptr));
            expect(Clock::now() - begin < std::chrono::seconds(2), "not within 2 s");
            expect_text("CommSplit");
            expect_text("AllReduce (int32, sum, 1 element)");
          }) == "");
  }
}

TEST_CASE("a rank that has no file left is an error of its color alone, and the parent goes on") {
  for (const int without : {4, 6}) {  // the first of its color, at whose place the others meet, and another one
    CHECK(run_ranks({{"processes"}, 8}, [without](Rank& rank) {
            const int color = rank.number() / 4;
            rondeConfig_t config = RONDE_CONFIG_INITIALIZER;
            config.initTimeoutSeconds = 20;
            OwnedComm made;
            rondeResult_t result = rondeSuccess;
            const auto begin = Clock::now();
            if (rank.number() == without) {
              const NoMoreFiles none;
              result = rondeCommSplit(rank.comm(), color, 0, &made, &config);
            } else {
              result = rondeCommSplit(rank.comm(), color, 0, &made, &config);
            }
            if (color == 0) {
              expect_success(result, "the other color");
              expect_sums(made, "the other color");
            } else {
              expect(result == (rank.number() == without ? rondeSystemError : rondeRemoteError),
                     std::string("another error: ") + rondeGetErrorString(result));
              expect_text("oo many open files");
              if (rank.number() != without) expect_text("rank " + std::to_string(without) + " of");
              expect(Clock::now() - begin < std::chrono::seconds(10), "it took longer than 10 s");
            }
            expect_sums(rank.comm(), "the parent");
            OwnedComm again;
            expect_success(rondeCommSplit(rank.comm(), color, 0, &again, &config), "the second time");
            expect_sums(again, "the second time");
          }) == "");
  }
}

TEST_CASE("a rank whose files run out in the middle of a start fails it on all of its color, or on none") {
  for (int left = 1; left <= 12; ++left) {
    CHECK(run_ranks({{std::to_string(left) + " files", false, "tcp"}, 4}, [left](Rank& rank) {
            const int color = rank.number() / 2;
            rondeConfig_t config = RONDE_CONFIG_INITIALIZER;
            config.initTimeoutSeconds = 3;  // who cannot take in a connection waits for a file until then
            OwnedComm made;
            rondeResult_t result = rondeSuccess;
            const auto begin = Clock::now();
            if (rank.number() == 3) {
              const NoMoreFiles few(left);
              result = rondeCommSplit(rank.comm(), color, 0, &made, &config);
            } else {
              result = rondeCommSplit(rank.comm(), color, 0, &made, &config);
            }
            expect(Clock::now() - begin < std::chrono::seconds(10), "it took longer than 10 s");
            int failed[2] = {0, 0};
            failed[color] = result == rondeSuccess ? 0 : 1;
            expect_success(rondeAllReduce(failed, failed, 2, rondeInt32, rondeSum, rank.comm(), nullptr), "the parent");
            expect(failed[0] == 0, "the other color failed");
            expect(failed[1] == 0 || failed[1] == 2, "one of a color has failed, the other has not");
          }) == "");
  }
}

TEST_CASE("a rank that dies while others split is an error that names it, on all") {
  for (const int delay_us : {0, 300, 1'000, 3'000, 10'000}) {
    CHECK(run_ranks({{"processes"}, 6}, [delay_us](Rank& rank) {
            if (rank.number() == 1) {
              std::thread([delay_us] {
                std::this_thread::sleep_for(std::chrono::microseconds(delay_us));
                _exit(0);
              }).detach();
            }
            rondeConfig_t config = RONDE_CONFIG_INITIALIZER;
            config.initTimeoutSeconds = 30;
            const auto begin = Clock::now();
            OwnedComm made;
            rondeResult_t result = rondeSuccess;
            while (result == rondeSuccess) {
              rondeCommDestroy(made.release());
              result = rondeCommSplit(rank.comm(), rank.number() / 3, 0, &made, &config);
            }
            const std::string text = rondeGetLastError(nullptr);
            expect(result == rondePeerLost || result == rondeRemoteError,
                   std::string("another error: ") + rondeGetErrorString(result) + ": " + text);
            expect(text.find("rank 1") != std::string::npos, "rank 1 is not named: " + text);
            expect(Clock::now() - begin < std::chrono::seconds(10), "it took longer than 10 s");
            if (rank.number() == 1) return;
            // The ones that are left go on, and can be split.
            OwnedComm left;
            expect_success(rondeCommShrink(rank.comm(), nullptr, 0, &left, nullptr, RONDE_SHRINK_DEFAULT), "shrink");
            OwnedComm part;
            expect_success(rondeCommSplit(left, rank.number() % 2, 0, &part, nullptr), "split what is left");
            expect_sums(part, "what is left");
          }) == "");
  }
}

TEST_CASE("to give up a split that waits in the parent gives up the parent, at once and on all ranks") {
  for (const bool destroy : {false, true}) {
    CHECK(run_ranks({{"processes"}, 3}, [destroy](Rank& rank) {
            if (rank.number() == 0) {
              rondeConfig_t config = RONDE_CONFIG_INITIALIZER;
              config.blocking = 0;
              OwnedComm made;
              expect(rondeCommDup(rank.comm(), &made, &config) == rondeInProgress, "rondeCommDup");
              const auto begin = Clock::now();
              if (!destroy) {
                expect_success(rondeCommAbort(made), "rondeCommAbort");
                expect(outcome_of_start(made) == rondeAborted, "not aborted");
              }
              made.destroy();
              expect(Clock::now() - begin < testing::at_once(1'000), "it took long");
              expect(rondeBarrier(rank.comm(), nullptr) == rondeAborted, "the parent goes on");
            } else {
              expect(failure_from_elsewhere(rank.comm()) == rondeRemoteError, "the others go on");
              expect(rondeBarrier(rank.comm(), nullptr) == rondeRemoteError, "the others go on");
              expect_text("rank 0");
            }
          }) == "");
  }
}

TEST_CASE("to abort the parent ends a split that waits for other ranks") {
  CHECK(run_ranks({{"processes"}, 2}, [](Rank& rank) {
          if (rank.number() == 1) {  // never calls it
            expect(failure_from_elsewhere(rank.comm()) == rondeRemoteError, "rank 1 goes on");
            return;
          }
          std::thread other([&] { rondeCommAbort(rank.comm()); });
          OwnedComm made;
          const rondeResult_t result = rondeCommSplit(rank.comm(), 0, 0, &made, nullptr);
          other.join();
          expect(result == rondeAborted, std::string("not aborted: ") + rondeGetErrorString(result));
        }) == "");
}

// It has no turn among the operations of its parent yet: that of one before it does not come.
TEST_CASE("a split that waits behind a host function can be given up") {
  CHECK(run_ranks({{"inproc", true, "inproc"}, 1}, [](Rank& rank) {
          static std::atomic<bool> release{false};
          rondeStream_t stream = nullptr;
          float value = 1;
          expect_success(rondeStreamCreate(&stream), "a stream");
          const auto waits = [](rondeResult_t, void*) {
            while (!release) std::this_thread::yield();
          };
          expect_success(rondeLaunchHostFunc(stream, waits, nullptr), "a host function");
          expect_success(rondeAllReduce(&value, &value, 1, rondeFloat32, rondeSum, rank.comm(), stream), "behind it");
          rondeConfig_t config = RONDE_CONFIG_INITIALIZER;
          config.blocking = 0;
          OwnedComm made;
          expect(rondeCommDup(rank.comm(), &made, &config) == rondeInProgress, "rondeCommDup");
          const auto begin = Clock::now();
          expect_success(rondeCommAbort(made), "rondeCommAbort");
          expect(outcome_of_start(made) == rondeAborted, "not aborted");
          made.destroy();
          expect(Clock::now() - begin < testing::at_once(1'000), "it took long");
          release = true;
          rondeStreamSynchronize(stream);
          expect_success(rondeStreamDestroy(stream), "destroy");
        }) == "");
}

TEST_CASE("splits that are aborted leave nothing open") {
  CHECK(run_ranks({{"inproc", true, "inproc"}, 1}, [](Rank&) {
          OpenFiles before;
          for (int round = 0; round < 30; ++round) {
            if (round == 10) before = OpenFiles::now();
            rondeComm_t comms[2] = {};
            rondeComm_t parts[2] = {};
            expect_success(rondeCommInitAll(comms, 2, nullptr), "init");
            std::thread aborts([&comms, round] {
              std::this_thread::sleep_for(std::chrono::microseconds(17 * round));
              rondeCommAbort(comms[round % 2]);
            });
            rondeResult_t result = rondeSuccess;
            while (result == rondeSuccess) {
              expect_success(rondeGroupStart(), "the group");
              for (int i = 0; i < 2; ++i) rondeCommSplit(comms[i], 0, 0, &parts[i], nullptr);
              result = rondeGroupEnd();
              if (result == rondeSuccess)
                for (rondeComm_t part : parts) expect_success(rondeCommDestroy(part), "destroy");
            }
            aborts.join();
            for (rondeComm_t comm : comms) expect_success(rondeCommDestroy(comm), "destroy");
          }
          // Meeting points of splits that came about end when all of their ranks have said goodbye.
          const Clock::time_point deadline = Clock::now() + std::chrono::seconds(10);
          const auto more = [&before] { return OpenFiles::now().number_beyond(before); };
          while (more() > 0 && Clock::now() < deadline) std::this_thread::yield();
          expect(more() == 0, std::to_string(more()) + " more files are open");
        }) == "");
}

}  // namespace ronde::cases
