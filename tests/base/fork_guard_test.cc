// Descriptors of the library in forked children.
#include "base/fork_guard.h"

#include <fcntl.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <catch2/catch.hpp>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <functional>
#include <thread>
#include <utility>

#include "base/fd.h"

namespace ronde {
namespace {

constexpr unsigned kChildLimit = 20;  // seconds

bool is_watched = false;

void watch_forks() {
  if (!std::exchange(is_watched, true)) REQUIRE(fork_guard::watch());
}

// What the body returns in a forked child; -1 if that did not end in time.
int in_child(const std::function<int()>& body) {
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    alarm(kChildLimit);
    _exit(body());
  }
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

Fd make_event() {
  return Fd::make([] { return ::eventfd(0, EFD_CLOEXEC); });
}

bool is_open(int fd) { return fcntl(fd, F_GETFD) >= 0; }

// A file of somebody else on that very number; false if it is taken.
bool open_at(int fd) {
  const int file = open("/dev/null", O_RDONLY | O_CLOEXEC);
  return !is_open(fd) ? dup2(file, fd) == fd : file == fd;
}

std::atomic<int> signals{0};
void count_signal(int /*signal*/) { signals.fetch_add(1); }

}  // namespace

// First, as it must come before the others begin to watch.
TEST_CASE("forks that nobody watches leave children everything") {
  if (is_watched) return;
  Fd event = make_event();
  CHECK(in_child([&] {
          if (fork_guard::in_forked_child() || event.is_inherited() || !is_open(event.get())) return 1;
          const int number = event.get();
          event.reset();
          return is_open(number) ? 2 : 0;
        }) == 0);
  CHECK(is_open(event.get()));
}

TEST_CASE("a forked child has nothing that Fd::make has made, and everything else") {
  watch_forks();
  const Fd first = make_event();
  const Fd gone = make_event();
  const Fd taken_over(open("/dev/null", O_RDONLY | O_CLOEXEC));
  Fd moved = make_event();
  const Fd second = std::move(moved);
  CHECK(in_child([&] {
          if (!fork_guard::in_forked_child() || !first.is_inherited() || taken_over.is_inherited()) return 1;
          if (is_open(first.get()) || is_open(gone.get()) || is_open(second.get())) return 2;
          return is_open(taken_over.get()) ? 0 : 3;
        }) == 0);
  CHECK_FALSE(fork_guard::in_forked_child());
  CHECK_FALSE(first.is_inherited());
  for (const Fd* fd : {&first, &gone, &second, &taken_over}) CHECK(is_open(fd->get()));
}

TEST_CASE("a number that is closed is no longer the library's") {
  watch_forks();
  Fd event = make_event();
  const int number = event.get();
  event.reset();
  CHECK_FALSE(is_open(number));
  REQUIRE(open_at(number));
  CHECK(in_child([&] { return is_open(number) ? 0 : 1; }) == 0);
  close(number);
}

TEST_CASE("objects that a child inherits close nothing of its own") {
  watch_forks();
  Fd event = make_event();
  Fd other = make_event();
  CHECK(in_child([&] {
          const int numbers[] = {event.get(), other.get()};
          if (!open_at(numbers[0]) || !open_at(numbers[1])) return 1;
          event.reset();
          { const Fd last = std::move(other); }
          return is_open(numbers[0]) && is_open(numbers[1]) ? 0 : 2;
        }) == 0);
}

TEST_CASE("what a child makes is its own, and not its children's") {
  watch_forks();
  const Fd event = make_event();
  CHECK(in_child([&] {
          Fd own = make_event();
          if (!own.valid() || own.is_inherited()) return 1;
          const int grandchild = in_child([&] { return is_open(own.get()) || !own.is_inherited() ? 1 : 0; });
          const int number = own.get();
          if (grandchild != 0 || !is_open(number)) return 2;
          own.reset();
          return is_open(number) ? 3 : 0;
        }) == 0);
}

TEST_CASE("a fork waits until a section has ended") {
  watch_forks();
  std::atomic<bool> inside{false};
  std::atomic<int> number{-1};
  std::atomic<bool> looked{false};
  std::thread maker([&] {
    Fd event;
    {
      const fork_guard::Section section;
      inside = true;
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
      event = Fd::made_in(section, ::eventfd(0, EFD_CLOEXEC));
      number = event.get();
    }
    while (!looked) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  });
  while (!inside) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  const int outcome = in_child([&] { return number < 0 ? 1 : is_open(number) ? 2 : 0; });
  CHECK(outcome == 0);
  CHECK(is_open(number));
  looked = true;
  maker.join();
}

TEST_CASE("signals wait until a section has ended: their handlers may fork") {
  signals = 0;
  REQUIRE(signal(SIGUSR1, count_signal) != SIG_ERR);
  {
    const fork_guard::Section section;
    REQUIRE(raise(SIGUSR1) == 0);
    CHECK(signals == 0);
  }
  CHECK(signals == 1);
  signal(SIGUSR1, SIG_DFL);
}

TEST_CASE("a call that fails keeps its errno and owns nothing") {
  const Fd failed = Fd::make([] { return ::open("/nowhere/at/all", O_RDONLY | O_CLOEXEC); });
  CHECK(errno == ENOENT);
  CHECK_FALSE(failed.valid());
  CHECK_FALSE(failed.is_inherited());
}

TEST_CASE("a number beyond the register is refused, not forgotten") {
  constexpr int kBeyond = 1 << 20;
  const rlimit many{kBeyond + 2, kBeyond + 2};
  if (setrlimit(RLIMIT_NOFILE, &many) != 0)
    return;  // the kernel's limit (fs.nr_open) is the register's, or we are not root
  const Fd refused = Fd::make([&] { return ::fcntl(0, F_DUPFD_CLOEXEC, kBeyond); });
  CHECK(errno == EMFILE);
  CHECK_FALSE(refused.valid());
  CHECK_FALSE(is_open(kBeyond));
}

}  // namespace ronde
