#include "cases/support/child.h"

#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <utility>

namespace ronde::cases {
namespace {

using Clock = std::chrono::steady_clock;

void write_all(int fd, const std::string& text) {
  size_t written = 0;
  while (written < text.size()) {
    const ssize_t now = write(fd, text.data() + written, text.size() - written);
    if (now < 0 && errno != EINTR) return;
    if (now > 0) written += static_cast<size_t>(now);
  }
}

int wait_for(pid_t pid) {
  int status = 0;
  while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  return status;
}

}  // namespace

Child::Child(const std::function<std::string()>& body) {
  int ends[2];
  if (pipe(ends) != 0) throw std::runtime_error("pipe failed");
  std::fflush(nullptr);
  pid_ = fork();
  if (pid_ < 0) throw std::runtime_error("fork failed");
  if (pid_ == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    close(ends[0]);
    const std::string report = body();
    write_all(ends[1], report);
    if (!report.empty()) _exit(0);  // threads may still hang in the library
    std::exit(0);
  }
  close(ends[1]);
  report_ = ends[0];
}

Child::Child(Child&& other) noexcept : pid_(std::exchange(other.pid_, -1)), report_(std::exchange(other.report_, -1)) {}

Child::~Child() {
  if (report_ >= 0) close(report_);
  if (pid_ < 0) return;
  kill(pid_, SIGKILL);
  wait_for(pid_);
}

// Until the other end is closed, which the child's end does too.
std::string Child::read_report(Clock::time_point deadline, bool* in_time) {
  std::string report;
  for (;;) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now()).count();
    pollfd readable{report_, POLLIN, 0};
    const int ready = poll(&readable, 1, static_cast<int>(std::clamp<long long>(left, 0, 1'000'000)));
    if (ready < 0 && errno == EINTR) continue;
    *in_time = ready > 0;
    if (!*in_time) return report;
    char part[4096];
    const ssize_t size = read(report_, part, sizeof part);
    if (size == 0) return report;
    if (size > 0) report.append(part, static_cast<size_t>(size));
    if (size < 0 && errno != EINTR) return report;
  }
}

std::string Child::end_by(Clock::time_point deadline, const std::string& who) {
  bool in_time = false;
  std::string report = read_report(deadline, &in_time);
  if (!in_time) {
    kill(pid_, SIGKILL);
    report += who + " had not ended at the deadline\n";
  }
  const int status = wait_for(std::exchange(pid_, -1));
  if (in_time && WIFSIGNALED(status)) {
    report += who + " was killed by signal " + std::to_string(WTERMSIG(status)) + "\n";
  } else if (WIFEXITED(status) && WEXITSTATUS(status) != 0) {
    report += who + " ended with exit code " + std::to_string(WEXITSTATUS(status)) + "\n";
  }
  return report;
}

}  // namespace ronde::cases
