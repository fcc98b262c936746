#include "runtime/worker.h"

#include <fmt/format.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <system_error>

#include "base/block_signals.h"
#include "runtime/communicator.h"

namespace ronde {

// ---- Stream --------------------------------------------------------------------------------------------------------

Status Stream::take_error() {
  const Status error = error_;
  error_ = Status();
  return error;
}

Status Stream::synchronize() {
  std::unique_lock lock(worker_.mutex_);
  worker_.changed_.wait(lock, [this] { return entries_.empty(); });
  return take_error();
}

Status Stream::query() {
  const std::scoped_lock lock(worker_.mutex_);
  if (!entries_.empty()) return {rondeInProgress, "operations of the stream have not ended yet"};
  return take_error();
}

// ---- Worker --------------------------------------------------------------------------------------------------------

struct Worker::Running {
  Stream* stream;
  Communicator::Started operation;
};

Worker::~Worker() {
  {
    const std::scoped_lock lock(mutex_);
    stop_ = true;
    if (wake_.valid()) ::eventfd_write(wake_.get(), 1);
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

Status Worker::enqueue(Stream& stream, Communicator& communicator, const OperationArgs& args) {
  const std::scoped_lock lock(mutex_);
  RONDE_TRY(start_thread());
  if (stream.entries_.empty()) busy_.push_back(&stream);
  stream.entries_.push_back({&communicator, communicator.queue().issued++, args});
  ::eventfd_write(wake_.get(), 1);
  changed_.notify_all();
  return {};
}

Status Worker::start_thread() {
  if (thread_.joinable()) return {};
  wake_ = Fd::make([] { return ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK); });
  if (!wake_.valid()) return system_error("cannot make an eventfd", errno);
  try {
    const BlockAllSignals block;
    thread_ = std::thread([this] { run(); });
  } catch (const std::system_error& error) {
    return {rondeSystemError, fmt::format("cannot start the thread of the streams: {}", error.what())};
  }
  return {};
}

void Worker::wait_for(Communicator& communicator) {
  Communicator::Queue& queue = communicator.queue();
  if (queue.ended == queue.issued) return;
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return queue.ended == queue.issued; });
}

void Worker::run() {
  std::list<Running> running;
  for (;;) {
    {
      std::unique_lock lock(mutex_);
      if (running.empty()) changed_.wait(lock, [this] { return stop_ || !busy_.empty(); });
      if (stop_) return;
      eventfd_t count = 0;
      ::eventfd_read(wake_.get(), &count);
      start_ready(running, lock);
    }
    std::vector<Waiter> waiters;
    for (Running& one : running) waiters.push_back(one.operation.waiter);
    if (!waiters.empty()) run_until_one_ends(waiters, wake_.get());
    auto waiter = waiters.begin();
    for (Running& one : running) one.operation.waiter = *waiter++;
    retire(running);
  }
}

// Starts the first operation of each stream whose turn it is in its communicator, until there is none. One that is alone
// ends in start(), which may take long: others may go on with their streams meanwhile.
void Worker::start_ready(std::list<Running>& running, std::unique_lock<std::mutex>& lock) {
  for (bool started = true; started;) {
    started = false;
    for (size_t i = 0; i < busy_.size(); ++i) {
      Stream& stream = *busy_[i];
      const Stream::Entry& entry = stream.entries_.front();
      if (stream.running_ || entry.place != entry.communicator->queue().ended) continue;
      lock.unlock();
      Communicator::Started operation = entry.communicator->start(entry.args);
      lock.lock();
      started = true;
      if (operation.task != nullptr) {
        stream.running_ = true;
        running.push_back({&stream, std::move(operation)});
      } else {
        end_entry(stream, operation.status);
        break;  // busy_ may have changed
      }
    }
  }
}

void Worker::retire(std::list<Running>& running) {
  const std::scoped_lock lock(mutex_);
  for (auto one = running.begin(); one != running.end();) {
    if (!one->operation.waiter.done) {
      ++one;
      continue;
    }
    const Status status = one->operation.task->status();
    Stream& stream = *one->stream;
    one = running.erase(one);  // the task goes before anybody can free what it refers to
    end_entry(stream, status);
  }
}

void Worker::end_entry(Stream& stream, const Status& status) {
  stream.running_ = false;
  if (!status.ok() && stream.error_.ok()) stream.error_ = status;
  stream.entries_.front().communicator->queue().ended++;
  stream.entries_.pop_front();
  if (stream.entries_.empty()) std::erase(busy_, &stream);
  changed_.notify_all();
}

}  // namespace ronde
