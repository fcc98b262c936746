#include "base/log.h"

#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <ctime>
#include <mutex>

#include "base/fd.h"

namespace ronde::log {
namespace {

// The one piece of state that a process has besides its Process object: where messages go. It must work before that
// object exists and after it is gone.
struct Sink {
  std::atomic<int> level{rondeLogWarn};
  std::mutex mutex;
  bool level_was_set = false;
  rondeLogCallback_t callback = nullptr;
  void* user = nullptr;
  Fd file;
};

Sink& sink() {
  static auto* the_sink = new Sink;  // never freed: threads may log while statics end
  return *the_sink;
}

const char* label(rondeLogLevel_t level) {
  switch (level) {
    case rondeLogWarn: return "warning";
    case rondeLogInfo: return "info";
    default: return "trace";
  }
}

// Whoever reads the messages may be gone: that must not end this process. The signal for it goes to the thread that
// writes, and is taken back unless it was pending before.
class WithoutBrokenPipe {
 public:
  WithoutBrokenPipe() {
    sigemptyset(&only_);
    sigaddset(&only_, SIGPIPE);
    sigset_t pending;
    sigpending(&pending);
    was_pending_ = sigismember(&pending, SIGPIPE) == 1;
    pthread_sigmask(SIG_BLOCK, &only_, &before_);
  }
  ~WithoutBrokenPipe() {
    const timespec now{};
    if (!was_pending_) {
      while (sigtimedwait(&only_, nullptr, &now) < 0 && errno == EINTR) {
      }
    }
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }
  WithoutBrokenPipe(const WithoutBrokenPipe&) = delete;
  WithoutBrokenPipe& operator=(const WithoutBrokenPipe&) = delete;

 private:
  sigset_t only_{};
  sigset_t before_{};
  bool was_pending_ = false;
};

void write_all(int fd, std::string_view text) {
  const WithoutBrokenPipe ignoring;
  while (!text.empty()) {
    const ssize_t written = ::write(fd, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return;  // nobody left to tell
    text.remove_prefix(static_cast<size_t>(written));
  }
}

}  // namespace

bool enabled(rondeLogLevel_t level) { return level <= sink().level.load(std::memory_order_relaxed); }

void write(rondeLogLevel_t level, std::string_view message) {
  Sink& to = sink();
  const std::scoped_lock lock(to.mutex);
  if (to.callback != nullptr) {
    to.callback(level, std::string(message).c_str(), to.user);
    return;
  }
  // One write for the whole line, so that lines of several processes do not mix.
  const bool to_file = to.file.valid() && !to.file.is_inherited();
  write_all(to_file ? to.file.get() : STDERR_FILENO,
            fmt::format("ronde[{}] {}: {}\n", getpid(), label(level), message));
}

void set_level(rondeLogLevel_t level) {
  const std::scoped_lock lock(sink().mutex);
  sink().level.store(level, std::memory_order_relaxed);
  sink().level_was_set = true;
}

void set_default_level(rondeLogLevel_t level) {
  const std::scoped_lock lock(sink().mutex);
  if (!sink().level_was_set) sink().level.store(level, std::memory_order_relaxed);
}

void set_callback(rondeLogCallback_t callback, void* user) {
  Sink& to = sink();
  const std::scoped_lock lock(to.mutex);
  to.callback = callback;
  to.user = user;
}

std::string file_name(const std::string& path) {
  std::string name = path;
  if (const size_t at = name.find("%p"); at != std::string::npos) name.replace(at, 2, std::to_string(getpid()));
  return name;
}

Status set_file(const std::string& path) {
  const std::string name = file_name(path);
  // Not blocking: a FIFO that nobody reads would keep start-up waiting for ever.
  Fd file =
      Fd::make([&] { return ::open(name.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NONBLOCK, 0600); });
  if (!file.valid()) return system_error("cannot open the log file '" + name + "' (RONDE_LOG_FILE)", errno);
  ::fcntl(file.get(), F_SETFL, O_APPEND);
  Sink& to = sink();
  const std::scoped_lock lock(to.mutex);
  to.file = std::move(file);
  return {};
}

}  // namespace ronde::log
