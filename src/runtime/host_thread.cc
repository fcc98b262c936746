#include "runtime/host_thread.h"

#include <fmt/format.h>

#include <condition_variable>
#include <mutex>
#include <system_error>
#include <utility>

#include "base/block_signals.h"
#include "base/deadline.h"
#include "base/log.h"

namespace ronde {
namespace {

constexpr Milliseconds kStopWait{1000};

}  // namespace

struct HostThread::Shared {
  std::function<void(StreamEntry&)> give_back;
  std::mutex mutex;
  std::condition_variable changed;
  // Guarded by the mutex.
  EntryList<&StreamEntry::next> entries;
  bool busy = false;
  bool stop = false;
};

HostThread::HostThread(std::function<void(StreamEntry&)> give_back) : shared_(std::make_shared<Shared>()) {
  shared_->give_back = std::move(give_back);
}

Status HostThread::start() {
  if (started_.is_set()) return {};
  const std::scoped_lock lock(shared_->mutex);
  if (thread_.joinable()) return {};
  try {
    const BlockAllSignals block;
    thread_ = std::thread([shared = shared_] { serve(shared); });
  } catch (const std::system_error& error) {
    return {rondeSystemError, fmt::format("cannot start the thread of host functions: {}", error.what())};
  }
  started_.set();
  return {};
}

void HostThread::run(StreamEntry& entry) {
  {
    const std::scoped_lock lock(shared_->mutex);
    shared_->entries.push_back(entry);
  }
  shared_->changed.notify_all();
}

void HostThread::stop() {
  std::unique_lock lock(shared_->mutex);
  shared_->stop = true;
  shared_->changed.notify_all();
  if (!thread_.joinable()) return;
  // A function that calls exit() comes here itself.
  bool leave = is_calling_thread();
  if (!leave && !shared_->changed.wait_for(lock, kStopWait, [this] { return !shared_->busy; })) {
    leave = true;
    log::warn("a function of rondeLaunchHostFunc still runs at the end of the process: not waited for any longer");
  }
  lock.unlock();
  leave ? thread_.detach() : thread_.join();
}

bool HostThread::is_calling_thread() const {
  return started_.is_set() && thread_.get_id() == std::this_thread::get_id();
}

void HostThread::serve(const std::shared_ptr<Shared>& shared) {
  std::unique_lock lock(shared->mutex);
  for (;;) {
    shared->changed.wait(lock, [&] { return shared->stop || !shared->entries.empty(); });
    if (shared->stop) return;
    StreamEntry& entry = shared->entries.pop_front();
    shared->busy = true;
    lock.unlock();
    {
      // Taken out: the entry goes with its stream if the process ends meanwhile.
      auto& [function, status, returned] = std::get<StreamEntry::Function>(entry.what);
      const HostFunction called = std::move(function);
      called(std::exchange(status, Status()));
    }
    lock.lock();
    shared->busy = false;
    if (!shared->stop) shared->give_back(entry);
    shared->changed.notify_all();
  }
}

}  // namespace ronde
