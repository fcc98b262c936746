#include "peers/probe.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include "peers/clocks.h"

namespace peers {

struct Probe::Words {
  struct alignas(128) Word {
    std::atomic<uint32_t> value;
  };
  Word ping, pong, done;
};

namespace {

constexpr int kRounds = 500;
constexpr double kGiveUpSeconds = 0.1;

class BoundTo {
 public:
  explicit BoundTo(int cpu) {
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(cpu, &one);
    sched_getaffinity(0, sizeof before_, &before_);
    sched_setaffinity(0, sizeof one, &one);
  }
  ~BoundTo() { sched_setaffinity(0, sizeof before_, &before_); }
  BoundTo(const BoundTo&) = delete;
  BoundTo& operator=(const BoundTo&) = delete;

 private:
  cpu_set_t before_;
};

}  // namespace

Probe::Probe(const std::string& file) {
  if (file.empty()) return;
  const int fd = open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  void* memory = MAP_FAILED;
  if (fd >= 0 && ftruncate(fd, sizeof(Words)) == 0) {
    memory = mmap(nullptr, sizeof(Words), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  }
  if (memory == MAP_FAILED) {
    std::perror(file.c_str());
    std::exit(1);
  }
  close(fd);
  words_ = static_cast<Words*>(memory);
}

Probe::~Probe() {
  if (words_ != nullptr) munmap(words_, sizeof(Words));
}

namespace {

// The best of ten rounds, in seconds one way; gives up when the other side is not running.
template <typename Word>
double ping(Word& there, Word& back) {
  double best = 1;
  uint32_t number = 0;
  const double start = now();
  for (int block = 0; block < 10 && now() - start < kGiveUpSeconds / 2; ++block) {
    const double begin = now();
    for (int i = 0; i < kRounds; ++i) {
      there.value.store(++number, std::memory_order_release);
      while (back.value.load(std::memory_order_acquire) != number) {
        if (now() - start > kGiveUpSeconds) return best;
      }
    }
    best = std::min(best, (now() - begin) / (2 * kRounds));
  }
  return best;
}

template <typename Word>
void answer(Word& there, Word& back, const Word& done) {
  while (done.value.load(std::memory_order_acquire) == 0) {
    const uint32_t number = there.value.load(std::memory_order_acquire);
    if (number != back.value.load(std::memory_order_relaxed)) back.value.store(number, std::memory_order_release);
  }
}

}  // namespace

double Probe::ask(Peer& peer) const {
  if (words_ == nullptr || peer.nranks() < 2) return 0;
  if (peer.rank() == 0) {
    words_->ping.value = 0;
    words_->pong.value = 0;
    words_->done.value = 0;
  }
  peer.barrier();
  double nanoseconds = 0;
  if (peer.rank() == 0) {
    const BoundTo cpu(0);
    nanoseconds = 1e9 * ping(words_->ping, words_->pong);
    words_->done.value.store(1, std::memory_order_release);
  } else if (peer.rank() == 1) {
    const BoundTo cpu(1);
    answer(words_->ping, words_->pong, words_->done);
  } else {
    while (words_->done.value.load(std::memory_order_acquire) == 0) usleep(200);
  }
  return peer.max_over_ranks(nanoseconds);
}

}  // namespace peers
