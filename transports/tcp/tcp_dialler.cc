#include "transports/tcp/tcp_dialler.h"

#include <fmt/format.h>
#include <pthread.h>

#include <exception>
#include <system_error>

#include "base/block_signals.h"

namespace ronde {

TcpDialler::~TcpDialler() {
  stop_.set();
  if (thread_.joinable()) thread_.join();
}

void TcpDialler::request(int peer, Deadline deadline, const OnceFlag* failed) {
  const std::scoped_lock lock(mutex_);
  Outcome& outcome = outcomes_[peer];
  if (const Status started = start_thread(); !started.ok()) {
    outcome = started;
    return;
  }
  const auto limit = std::chrono::ceil<Milliseconds>(deadline.time() - Clock::now());
  queue_.push_back({peer, limit, failed, &outcome});
}

// With the mutex.
Status TcpDialler::start_thread() {
  if (running_) return {};
  if (thread_.joinable()) thread_.join();  // it has found the queue empty, and needs the mutex no more
  try {
    const BlockAllSignals block;
    thread_ = std::thread([this] { run(); });
  } catch (const std::system_error& error) {
    return {rondeSystemError,
            fmt::format("cannot start the thread that connects to other ranks: {} (ulimit -u)", error.what())};
  }
  running_ = true;
  return {};
}

std::optional<Result<std::vector<ProvedStream>>> TcpDialler::take(int peer) {
  const std::scoped_lock lock(mutex_);
  const auto found = outcomes_.find(peer);
  if (found == outcomes_.end() || !found->second) return std::nullopt;
  return std::move(outcomes_.extract(found).mapped());
}

void TcpDialler::run() {
  pthread_setname_np(pthread_self(), "ronde-dial");
  std::unique_lock lock(mutex_);
  while (!queue_.empty() && !stop_.is_set()) {
    const Request request = queue_.front();
    queue_.pop_front();
    lock.unlock();
    Result<std::vector<ProvedStream>> result = dial(request);
    lock.lock();
    *request.outcome = std::move(result);
    lock.unlock();
    own_.doorbell->wake();
    lock.lock();
  }
  running_ = false;
}

Result<std::vector<ProvedStream>> TcpDialler::dial(const Request& request) const {
  try {
    return dial_(request.peer,
                 {.deadline = Deadline::after(request.limit), .stop = request.failed, .stop_too = &stop_});
  } catch (const std::exception& error) {
    return Status(rondeSystemError, fmt::format("connecting to rank {} failed: {}", request.peer, error.what()));
  }
}

}  // namespace ronde
