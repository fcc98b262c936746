#include "common/crew.h"

#include <fmt/format.h>

#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <thread>

namespace perf {
namespace {

using Clock = std::chrono::steady_clock;

// After a failure the library ends the calls of all ranks within seconds; this is its limit and some.
constexpr auto kGraceAfterFailure = std::chrono::seconds(20);

class Crew {
 public:
  explicit Crew(const CrewOptions& options) : options_(options) {
    for (int thread = 0; thread < options.threads; ++thread) {
      progress_.push_back(std::make_unique<Progress>(options.first_rank + thread * options.ranks_per_thread));
    }
  }

  std::vector<std::string> run(const std::function<std::string(int, Progress*)>& work) {
    std::vector<std::thread> threads;
    for (int thread = 0; thread < options_.threads; ++thread) {
      Progress* progress = progress_[static_cast<std::size_t>(thread)].get();
      threads.emplace_back([this, thread, progress, &work] { ended(progress, work(thread, progress)); });
    }
    watch();
    for (std::thread& thread : threads) thread.join();
    return failures_;
  }

 private:
  void ended(Progress* progress, std::string failure) {
    const std::lock_guard<std::mutex> lock(mutex_);
    progress->end();
    ++ended_;
    if (!failure.empty()) {
      std::fprintf(stderr, "%s: %s\n", options_.program.c_str(), failure.c_str());
      if (failures_.empty()) first_failure_ = Clock::now();
      failures_.push_back(std::move(failure));
    }
    changed_.notify_one();
  }

  void watch() {
    std::unique_lock<std::mutex> lock(mutex_);
    while (ended_ < options_.threads) {
      changed_.wait_for(lock, std::chrono::milliseconds(200));
      for (const auto& progress : progress_) {
        if (progress->ended()) continue;
        if (options_.timeout_seconds > 0 && progress->seconds_in_phase() > options_.timeout_seconds) {
          give_up(*progress, fmt::format("has taken more than {} s (-T)", options_.timeout_seconds));
        }
        if (!failures_.empty() && Clock::now() - first_failure_ > kGraceAfterFailure) {
          give_up(*progress, "did not end after another rank failed");
        }
      }
    }
  }

  // Ends the process at once: a thread that hangs cannot be stopped in any other way.
  [[noreturn]] void give_up(const Progress& progress, const std::string& why) {
    std::fprintf(stderr, "%s: rank %d: \"%s\", %zu bytes, %s\n", options_.program.c_str(), progress.first_rank(),
                 progress.phase(), progress.bytes(), why.c_str());
    std::fflush(nullptr);
    std::_Exit(1);
  }

  const CrewOptions& options_;
  std::vector<std::unique_ptr<Progress>> progress_;
  std::mutex mutex_;
  std::condition_variable changed_;
  int ended_ = 0;  // guarded by mutex_, as all below
  std::vector<std::string> failures_;
  Clock::time_point first_failure_;
};

}  // namespace

std::vector<std::string> run_crew(const CrewOptions& options,
                                  const std::function<std::string(int thread, Progress* progress)>& work) {
  return Crew(options).run(work);
}

}  // namespace perf
