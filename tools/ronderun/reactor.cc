#include "ronderun/reactor.h"

#include <sys/epoll.h>

#include <array>
#include <cerrno>
#include <climits>
#include <system_error>

namespace ronde::launcher {

Reactor::Reactor() : epoll_(epoll_create1(EPOLL_CLOEXEC)) {
  if (!epoll_.valid()) throw std::system_error(errno, std::generic_category(), "no epoll descriptor");
}

bool Reactor::watch_input(int fd, Handler handler) { return watch(fd, EPOLLIN, std::move(handler)); }
bool Reactor::watch_output(int fd, Handler handler) { return watch(fd, EPOLLOUT, std::move(handler)); }

bool Reactor::watch(int fd, uint32_t events, Handler handler) {
  forget(fd);
  const uint64_t id = ++last_id_;
  epoll_event event{};
  event.events = events;
  event.data.u64 = id;
  if (epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd, &event) != 0) return false;
  watches_[id] = std::make_shared<Watch>(Watch{fd, std::move(handler)});
  ids_[fd] = id;
  return true;
}

void Reactor::forget(int fd) {
  const auto known = ids_.find(fd);
  if (known == ids_.end()) return;
  epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, fd, nullptr);
  watches_.erase(known->second);
  ids_.erase(known);
}

Reactor::TimerId Reactor::call_at(Deadline when, Handler handler) {
  const TimerId id{when.time(), ++last_id_};
  timers_.emplace(id, std::move(handler));
  return id;
}

void Reactor::run_once(Deadline limit) {
  if (!timers_.empty()) limit = limit.earlier(Deadline::at(timers_.begin()->first.first));
  const bool endless = limit.time() == Time::max();
  std::array<epoll_event, 64> events;
  const int count = epoll_wait(epoll_.get(), events.data(), static_cast<int>(events.size()),
                               endless ? -1 : limit.poll_timeout(Clock::now(), INT_MAX));
  for (int i = 0; i < count; ++i) {
    const auto found = watches_.find(events[static_cast<size_t>(i)].data.u64);
    if (found == watches_.end()) continue;  // forgotten by a handler before this one
    const auto watch = found->second;       // lives on if the handler forgets itself
    watch->handler();
  }
  // Timers that handlers add now are not run before the next turn, so that none can starve the descriptors.
  const Time now = Clock::now();
  const uint64_t newest = last_id_;
  for (auto due = timers_.begin(); due != timers_.end() && due->first.first <= now;) {
    if (due->first.second > newest) {
      ++due;
      continue;
    }
    const Handler handler = std::move(due->second);
    timers_.erase(due);
    handler();
    due = timers_.begin();
  }
}

}  // namespace ronde::launcher
