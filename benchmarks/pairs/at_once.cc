// Two communicators of the same ranks: used by two threads at once, or by one thread in turn.
#include <cstdio>
#include <semaphore>
#include <thread>
#include <vector>

#include "pairs/pairs.h"

namespace pairs {
namespace {

// All-reduces on a communicator, in place.
class Calls {
 public:
  Calls(rondeComm_t comm, std::size_t bytes) : comm_(comm), values_(bytes / sizeof(float), 0.0F) {}
  void once() {
    must(rondeAllReduce(values_.data(), values_.data(), values_.size(), rondeFloat32, rondeSum, comm_.get(), nullptr),
         "rondeAllReduce");
  }
  void several(int times) {
    for (int i = 0; i < times; ++i) once();
  }

 private:
  Comm comm_;
  std::vector<float> values_;
};

// A second thread that does its part when it is told to: starting a thread is not to be measured.
class Helper {
 public:
  explicit Helper(Calls& calls) : calls_(calls), thread_([this] { run(); }) {}
  ~Helper() {
    times_ = 0;
    begin_.release();
    thread_.join();
  }
  Helper(const Helper&) = delete;
  Helper& operator=(const Helper&) = delete;

  void begin(int times) {
    times_ = times;
    begin_.release();
  }
  void wait() { done_.acquire(); }

 private:
  void run() {
    for (begin_.acquire(); times_ > 0; begin_.acquire()) {
      calls_.several(times_);
      done_.release();
    }
  }

  Calls& calls_;
  int times_ = 0;  // handed over by the semaphores
  std::binary_semaphore begin_{0};
  std::binary_semaphore done_{0};
  std::thread thread_;  // last: it uses the others
};

// Calls of each communicator in one go: half a millisecond or more, beside which to wake the other thread is little.
int calls_in_one_go(std::size_t bytes) {
  if (bytes < 1024) return 4000;
  return bytes < (1 << 20) ? 400 : 8;
}

}  // namespace

void two_at_once(const Job& job, int rounds) {
  if (job.rank() == 0) {
    std::printf(
        "Two communicators, all-reduces of float32 on each, %d ranks: by two threads at once, by one in turn\n\n"
        "| size | at once, us | in turn, us | ratio |\n|---:|---:|---:|---:|\n",
        job.nranks());
  }
  for (const std::size_t bytes :
       {std::size_t{8}, std::size_t{4} << 10, std::size_t{64} << 10, std::size_t{1} << 20, std::size_t{16} << 20}) {
    Calls first(job.another(), bytes);
    Calls second(job.another(), bytes);
    Helper helper(second);
    const int calls = calls_in_one_go(bytes);
    const auto at_once = [&] {
      helper.begin(calls);
      first.several(calls);
      helper.wait();
    };
    const auto in_turn = [&] {
      first.several(calls);
      second.several(calls);
    };
    Comparison found = compare(job, at_once, in_turn, rounds);
    found.first_us /= 2 * calls;
    found.second_us /= 2 * calls;
    if (job.rank() == 0) std::fputs(row(size_text(bytes), found).c_str(), stdout);
    std::fflush(stdout);
  }
}

}  // namespace pairs
