#include "base/event_loop.h"

#include <fmt/format.h>
#include <pthread.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <condition_variable>
#include <csignal>
#include <map>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

#include "base/block_signals.h"
#include "base/fd.h"
#include "base/retry.h"

namespace ronde {
namespace {

constexpr uint64_t kWakeKey = 0;
constexpr int kEventsAtOnce = 64;
constexpr int kLongestSleep = 60'000;

}  // namespace

struct EventLoop::Impl {
  struct Entry {
    std::shared_ptr<EventSource> source;
    int descriptor = -1;
    Time next = Time::min();  // when advance() is due whatever its descriptor says; at first: at once
  };

  Status add(std::shared_ptr<EventSource> source) {
    const std::scoped_lock lock(mutex);
    RONDE_TRY(start());
    const uint64_t key = next_key++;
    epoll_event event{};
    event.events = EPOLLIN;
    event.data.u64 = key;
    const int descriptor = source->descriptor();
    if (epoll_ctl(epoll.get(), EPOLL_CTL_ADD, descriptor, &event) != 0)
      return system_error("the service thread cannot watch a descriptor", errno);
    entries.emplace(key, Entry{std::move(source), descriptor});
    wake();
    return {};
  }

  // With the mutex.
  Status start() {
    if (thread.joinable()) return {};
    epoll = Fd::make([] { return ::epoll_create1(EPOLL_CLOEXEC); });
    if (!epoll.valid()) return system_error("no epoll descriptor for the service thread", errno);
    wakeup = Fd::make([] { return ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK); });
    if (!wakeup.valid()) return system_error("no event descriptor for the service thread", errno);
    epoll_event event{};
    event.events = EPOLLIN;
    event.data.u64 = kWakeKey;
    if (epoll_ctl(epoll.get(), EPOLL_CTL_ADD, wakeup.get(), &event) != 0)
      return system_error("the service thread cannot watch its event descriptor", errno);
    try {
      const BlockAllSignals block;
      thread = std::thread([this] { run(); });
    } catch (const std::system_error& error) {
      return {rondeSystemError, fmt::format("cannot start the service thread: {}", error.what())};
    }
    return {};
  }

  void wake() const {
    const uint64_t one = 1;
    // Full means that it is awake already.
    [[maybe_unused]] const auto written = retry_interrupted([&] { return ::write(wakeup.get(), &one, sizeof one); });
  }

  void run() {
    pthread_setname_np(pthread_self(), "ronde-service");  // of another thread it would open a file
    std::vector<uint64_t> due;
    std::unique_lock lock(mutex);
    while (!stopping) {
      const Time next = next_time();
      lock.unlock();
      due.clear();
      wait(Deadline::at(next), due);
      lock.lock();
      add_timers(due);
      for (const uint64_t key : due) {
        if (stopping) break;
        serve(key, lock);
      }
    }
  }

  [[nodiscard]] Time next_time() const {
    Time next = Time::max();
    for (const auto& [key, entry] : entries) next = std::min(next, entry.next);
    return next;
  }

  void wait(Deadline deadline, std::vector<uint64_t>& due) const {
    epoll_event events[kEventsAtOnce];
    const int timeout = deadline.poll_timeout(Clock::now(), kLongestSleep);
    const int count = ::epoll_wait(epoll.get(), events, kEventsAtOnce, timeout);
    for (int i = 0; i < count; ++i) {
      if (events[i].data.u64 != kWakeKey) {
        due.push_back(events[i].data.u64);
        continue;
      }
      uint64_t ignored = 0;
      [[maybe_unused]] const auto got =
          retry_interrupted([&] { return ::read(wakeup.get(), &ignored, sizeof ignored); });
    }
  }

  void add_timers(std::vector<uint64_t>& due) {
    const Time now = Clock::now();
    for (auto& [key, entry] : entries) {
      if (entry.next > now) continue;
      entry.next = Time::max();  // set anew by serve()
      if (std::find(due.begin(), due.end(), key) == due.end()) due.push_back(key);
    }
  }

  // Entered and left with the lock; advance() runs without it.
  void serve(uint64_t key, std::unique_lock<std::mutex>& lock) {
    auto entry = entries.find(key);
    if (entry == entries.end()) return;
    std::shared_ptr<EventSource> source = entry->second.source;
    entry->second.next = Time::max();
    running = key;
    lock.unlock();
    const bool goes_on = source->advance(Clock::now());
    const Time next = goes_on ? source->next_deadline().time() : Time::max();
    lock.lock();
    running = kWakeKey;
    entry = entries.find(key);  // remove() may have taken it
    if (entry != entries.end()) {
      entry->second.next = std::min(entry->second.next, next);  // a poke meanwhile is not lost
      if (!goes_on) forget(entry);
    }
    done.notify_all();
    // Its destructor may use this loop.
    lock.unlock();
    source.reset();
    lock.lock();
  }

  void forget(std::map<uint64_t, Entry>::iterator entry) {
    epoll_ctl(epoll.get(), EPOLL_CTL_DEL, entry->second.descriptor, nullptr);
    entries.erase(entry);
  }

  std::map<uint64_t, Entry>::iterator find(const EventSource& source) {
    return std::find_if(entries.begin(), entries.end(),
                        [&](const auto& entry) { return entry.second.source.get() == &source; });
  }

  void poke(const EventSource& source) {
    const std::scoped_lock lock(mutex);
    const auto entry = find(source);
    if (entry == entries.end()) return;
    entry->second.next = Time::min();
    wake();
  }

  void remove(const EventSource& source) {
    std::shared_ptr<EventSource> kept;  // let go of without the lock
    std::unique_lock lock(mutex);
    const auto entry = find(source);
    if (entry == entries.end()) return;
    const uint64_t key = entry->first;
    kept = entry->second.source;
    forget(entry);
    if (std::this_thread::get_id() != thread.get_id()) done.wait(lock, [&] { return running != key; });
    lock.unlock();
  }

  void stop() {
    {
      const std::scoped_lock lock(mutex);
      stopping = true;
      if (wakeup.valid()) wake();
    }
    if (thread.joinable()) thread.join();
    // No other thread any more. Destructors may call poke() and remove(), which then find nothing.
    std::map<uint64_t, Entry> last;
    {
      const std::scoped_lock lock(mutex);
      last.swap(entries);
    }
    last.clear();
  }

  std::mutex mutex;
  std::condition_variable done;  // an advance() has returned
  std::thread thread;
  Fd epoll;
  Fd wakeup;
  std::map<uint64_t, Entry> entries;
  uint64_t next_key = kWakeKey + 1;
  uint64_t running = kWakeKey;  // key of the source whose advance() runs; kWakeKey: none
  bool stopping = false;
  const pid_t process = ::getpid();
};

EventLoop::EventLoop() : impl_(std::make_unique<Impl>()) {}

EventLoop::~EventLoop() {
  if (impl_->process == ::getpid()) {
    impl_->stop();
  } else {
    // A forked child has neither the thread nor a say in the parent's connections: the memory is left as it is.
    [[maybe_unused]] auto* leaked = impl_.release();
  }
}

Status EventLoop::add(std::shared_ptr<EventSource> source) { return impl_->add(std::move(source)); }
void EventLoop::poke(const EventSource& source) { impl_->poke(source); }
void EventLoop::remove(const EventSource& source) { impl_->remove(source); }

}  // namespace ronde
