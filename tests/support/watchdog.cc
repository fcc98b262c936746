#include "support/watchdog.h"

#include <cstdio>
#include <cstdlib>

namespace ronde::testing {

Watchdog::Watchdog(std::string what, Milliseconds limit)
    : what_(std::move(what)), thread_([this, limit] { run(limit); }) {}

Watchdog::~Watchdog() {
  {
    const std::scoped_lock lock(mutex_);
    ended_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void Watchdog::run(Milliseconds limit) {
  std::unique_lock lock(mutex_);
  if (changed_.wait_until(lock, Clock::now() + limit, [this] { return ended_; })) return;
  std::fprintf(stderr, "test hangs: %s has not ended after %lld ms\n", what_.c_str(),
               static_cast<long long>(limit.count()));
  std::abort();
}

}  // namespace ronde::testing
