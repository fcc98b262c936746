#include "base/doorbell.h"

#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>

namespace ronde {
namespace {

void add_one(int event_fd) {
  const uint64_t one = 1;
  while (::write(event_fd, &one, sizeof one) < 0 && errno == EINTR) {
  }
  // EAGAIN would need 2^64 - 1 rings: nobody reads the eventfd, its edge alone wakes.
}

}  // namespace

Result<std::unique_ptr<Doorbell>> Doorbell::create(SleepWord* word) {
  Fd event = Fd::make([] { return ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK); });
  if (!event.valid()) return system_error("cannot make an eventfd", errno);
  Fd epoll = Fd::make([] { return ::epoll_create1(EPOLL_CLOEXEC); });
  if (!epoll.valid()) return system_error("cannot make an epoll descriptor", errno);
  epoll_event interest{};
  interest.events = EPOLLIN | EPOLLET;
  if (::epoll_ctl(epoll.get(), EPOLL_CTL_ADD, event.get(), &interest) != 0) {
    return system_error("cannot watch an eventfd", errno);
  }
  return std::unique_ptr<Doorbell>(new Doorbell(word, std::move(event), std::move(epoll)));
}

Status Doorbell::add_socket(int fd) {
  epoll_event interest{};
  interest.events = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET;
  if (::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd, &interest) != 0) return system_error("cannot watch a socket", errno);
  return {};
}

bool Doorbell::sleep(int timeout_ms) {
  epoll_event events[16];
  return ::epoll_wait(epoll_.get(), events, 16, timeout_ms) != 0;
}

void Doorbell::wake() {
  if (is_sleeping(*word_)) add_one(event_.get());
}

void Ringer::write_event() const { add_one(event_fd_); }

}  // namespace ronde
