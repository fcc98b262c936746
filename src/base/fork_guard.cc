#include "base/fork_guard.h"

#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <cerrno>
#include <csignal>
#include <mutex>

namespace ronde::fork_guard {
namespace {

constexpr size_t kBits = 64;
constexpr size_t kMostDescriptors = 1 << 20;  // the kernel's own default limit (fs.nr_open)

// One bit for each descriptor, so that a child needs neither memory nor anybody's objects to close them. Pages that no
// number reaches are never touched.
struct Register {
  std::mutex mutex;
  sigset_t signals_before;  // of the thread that holds the mutex
  uint64_t bits[kMostDescriptors / kBits];
  size_t words_used;
  std::atomic<uint32_t> generation{1};

  void lock() {
    sigset_t all;
    sigset_t before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    mutex.lock();
    signals_before = before;
  }
  void unlock() {
    const sigset_t before = signals_before;
    mutex.unlock();
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
  }

  void add(size_t fd) {
    bits[fd / kBits] |= uint64_t{1} << fd % kBits;
    words_used = std::max(words_used, fd / kBits + 1);
  }
  void remove(size_t fd) { bits[fd / kBits] &= ~(uint64_t{1} << fd % kBits); }

  void close_all() {
    for (size_t word = 0; word < words_used; ++word) {
      for (; bits[word] != 0; bits[word] &= bits[word] - 1) {
        ::close(static_cast<int>(word * kBits) + std::countr_zero(bits[word]));
      }
    }
  }
};

constinit Register the_register{};

void before_fork() { the_register.lock(); }
void after_fork_in_parent() { the_register.unlock(); }
// The other threads are gone, with their locks held: only what is safe in a signal handler.
void after_fork_in_child() {
  the_register.close_all();
  the_register.generation.fetch_add(1, std::memory_order_relaxed);
  the_register.unlock();
}

}  // namespace

bool watch() { return pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child) == 0; }

uint32_t generation() { return the_register.generation.load(std::memory_order_relaxed); }

Section::Section() { the_register.lock(); }

Section::~Section() {
  const int error = errno;
  the_register.unlock();
  errno = error;
}

int Section::keep(int fd) const {
  if (fd < 0) return fd;
  if (static_cast<size_t>(fd) < kMostDescriptors) {
    the_register.add(static_cast<size_t>(fd));
    return fd;
  }
  ::close(fd);
  errno = EMFILE;
  return -1;
}

void Section::close(int fd, uint32_t made_in) const {
  // A child has closed what its ancestors made: the number may be that of a file of its program.
  if (made_in != generation()) return;
  the_register.remove(static_cast<size_t>(fd));
  ::close(fd);
}

}  // namespace ronde::fork_guard
