#include "ronderun/signals.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <system_error>

namespace ronde::launcher {
namespace {

sigset_t set_of(std::initializer_list<int> numbers) {
  sigset_t set;
  sigemptyset(&set);
  for (const int number : numbers) sigaddset(&set, number);
  return set;
}

// A signal that is blocked is kept even if it is to be ignored, so ignored ones must not be in the set.
sigset_t without_ignored(sigset_t set) {
  for (int number = 1; number < NSIG; ++number) {
    struct sigaction action {};
    if (sigismember(&set, number) != 1 || sigaction(number, nullptr, &action) != 0) continue;
    if (action.sa_handler == SIG_IGN) sigdelset(&set, number);
  }
  return set;
}

void take_default_action(int number) {
  struct sigaction action {};
  action.sa_handler = SIG_DFL;
  sigaction(number, &action, nullptr);
  const sigset_t set = set_of({number});
  kill(getpid(), number);
  sigprocmask(SIG_UNBLOCK, &set, nullptr);  // now it arrives
}

}  // namespace

Inherited take_over() {
  for (int fd = open("/dev/null", O_RDWR); fd >= 0; fd = open("/dev/null", O_RDWR)) {
    if (fd <= 2) continue;
    close(fd);
    break;
  }
  Inherited inherited;
  sigprocmask(SIG_SETMASK, nullptr, &inherited.mask);
  struct sigaction action {};
  action.sa_handler = SIG_IGN;
  struct sigaction before {};
  sigaction(SIGPIPE, &action, &before);
  inherited.sigpipe_ignored = before.sa_handler == SIG_IGN;
  action.sa_handler = SIG_DFL;
  sigaction(SIGCHLD, &action, nullptr);  // ignored, it would have the system throw away how children end
  getrlimit(RLIMIT_NOFILE, &inherited.open_files);
  rlimit raised = inherited.open_files;
  raised.rlim_cur = raised.rlim_max;
  setrlimit(RLIMIT_NOFILE, &raised);
  return inherited;
}

SignalSource::SignalSource(Reactor& reactor, std::initializer_list<int> numbers, std::function<void(int)> received)
    : reactor_(reactor), received_(std::move(received)) {
  const sigset_t set = without_ignored(set_of(numbers));
  fd_ = Fd(signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
  if (!fd_.valid() || !reactor_.watch_input(fd_.get(), [this] { read_some(); }))
    throw std::system_error(errno, std::generic_category(), "no descriptor for signals");
  sigprocmask(SIG_BLOCK, &set, nullptr);  // only now: what came before takes its usual effect
}

SignalSource::~SignalSource() { reactor_.forget(fd_.get()); }

void SignalSource::read_some() {
  std::array<signalfd_siginfo, 8> events;
  const ssize_t size = read(fd_.get(), events.data(), sizeof events);
  for (size_t i = 0; size > 0 && i < static_cast<size_t>(size) / sizeof events[0]; ++i) {
    received_(static_cast<int>(events[i].ssi_signo));
  }
}

void suspend_self() {
  take_default_action(SIGTSTP);
  const sigset_t set = set_of({SIGTSTP});
  sigprocmask(SIG_BLOCK, &set, nullptr);
}

void end_by_signal(int number) {
  const rlimit no_core{0, 0};
  setrlimit(RLIMIT_CORE, &no_core);
  take_default_action(number);
  _exit(128 + number);  // not reached, unless the parent of a container's first process protects it
}

std::string own_host_name() {
  std::array<char, 256> name{};
  if (gethostname(name.data(), name.size() - 1) != 0 || name[0] == 0) return "localhost";
  return name.data();
}

}  // namespace ronde::launcher
