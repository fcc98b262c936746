#include "ronderun/stream_writer.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "base/fd.h"

namespace ronde::launcher {

// Outlives the object while the thread is stuck in a write.
struct StreamWriter::Shared {
  int target = -1;
  Fd event;
  mutable std::mutex mutex;
  std::condition_variable changed;
  std::string next;    // what the thread takes next, in one piece
  size_t waiting = 0;  // `next` and what the thread is writing
  int error = 0;
  bool stop = false;
};

StreamWriter::StreamWriter(int fd) : shared_(std::make_shared<Shared>()) {
  shared_->target = fd;
  shared_->event = Fd(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  try {
    std::thread([shared = shared_] { run(shared); }).detach();
  } catch (const std::system_error& error) {
    throw std::system_error(error.code(), "cannot start the thread that writes the output (ulimit -u, ulimit -v)");
  }
}

StreamWriter::~StreamWriter() {
  const std::lock_guard lock(shared_->mutex);
  shared_->stop = true;
  shared_->changed.notify_one();
}

void StreamWriter::write(std::string bytes) {
  const std::lock_guard lock(shared_->mutex);
  if (shared_->error != 0) return;
  shared_->waiting += bytes.size();
  if (shared_->next.empty()) {
    shared_->next = std::move(bytes);
  } else {
    shared_->next += bytes;
  }
  shared_->changed.notify_one();
}

size_t StreamWriter::waiting() const {
  const std::lock_guard lock(shared_->mutex);
  return shared_->waiting;
}

int StreamWriter::error() const {
  const std::lock_guard lock(shared_->mutex);
  return shared_->error;
}

int StreamWriter::event_fd() const { return shared_->event.get(); }

void StreamWriter::acknowledge() {
  uint64_t count;
  [[maybe_unused]] const auto size = read(shared_->event.get(), &count, sizeof count);
}

void StreamWriter::run(const std::shared_ptr<Shared>& shared) {
  const auto tell = [&shared] {
    const uint64_t one = 1;
    [[maybe_unused]] const auto size = ::write(shared->event.get(), &one, sizeof one);
  };
  std::unique_lock lock(shared->mutex);
  while (true) {
    shared->changed.wait(lock, [&shared] { return shared->stop || !shared->next.empty(); });
    if (shared->stop) return;
    const std::string bytes = std::exchange(shared->next, {});
    for (size_t done = 0; done < bytes.size() && !shared->stop;) {
      lock.unlock();
      const ssize_t size = ::write(shared->target, bytes.data() + done, bytes.size() - done);
      const int error = size < 0 ? errno : 0;
      if (error == EAGAIN) {  // somebody else has set it to non-blocking
        pollfd wait{shared->target, POLLOUT, 0};
        poll(&wait, 1, -1);
      }
      lock.lock();
      if (error == EAGAIN || error == EINTR) continue;
      if (error != 0) {
        shared->error = error;
        shared->waiting = 0;
        shared->next.clear();
        tell();
        return;
      }
      const size_t before = shared->waiting;
      done += static_cast<size_t>(size);
      shared->waiting -= static_cast<size_t>(size);
      if (shared->waiting == 0 || (before >= kLowBytes && shared->waiting < kLowBytes)) tell();
    }
  }
}

}  // namespace ronde::launcher
