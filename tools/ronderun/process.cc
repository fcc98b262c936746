#include "ronderun/process.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <memory>
#include <unordered_map>

#include "base/fd.h"

namespace ronde::launcher {
namespace {

std::vector<char*> pointers(const std::vector<std::string>& list) {
  std::vector<char*> result;
  result.reserve(list.size() + 1);
  for (const auto& item : list) result.push_back(const_cast<char*>(item.c_str()));
  result.push_back(nullptr);
  return result;
}

// Between fork and exec only what is safe in a copy of a process with several threads.
struct Child {
  const Launch& launch;
  const Inherited& inherited;
  pid_t parent;
  int report;  // where an errno goes
  char* const* arguments;
  char* const* shell_arguments;  // for a script without #!
  char* const* environment;

  [[noreturn]] void run() const {
    set_place();
    if (!set_descriptors()) fail();
    restore();
    execve(launch.path.c_str(), arguments, environment);
    if (errno == ENOEXEC) execve("/bin/sh", shell_arguments, environment);
    fail();
  }

  void set_place() const {
    if (launch.new_session) {
      setsid();
    } else {
      setpgid(0, 0);
    }
    if (launch.death_signal == 0) return;
    prctl(PR_SET_PDEATHSIG, launch.death_signal);
    if (getppid() != parent) _exit(1);  // it ended before the line above
  }

  [[nodiscard]] bool set_descriptors() const {
    if (dup2(launch.in, 0) < 0) return false;
    if (dup2(launch.out, 1) < 0 || dup2(launch.error, 2) < 0) return false;
    for (const int fd : launch.kept) {
      if (fcntl(fd, F_SETFD, 0) != 0) return false;
    }
    return true;
  }

  void restore() const {
    struct sigaction action {};
    action.sa_handler = inherited.sigpipe_ignored ? SIG_IGN : SIG_DFL;
    sigaction(SIGPIPE, &action, nullptr);
    setrlimit(RLIMIT_NOFILE, &inherited.open_files);
    sigprocmask(SIG_SETMASK, &inherited.mask, nullptr);
  }

  [[noreturn]] void fail() const {
    const int error = errno;
    [[maybe_unused]] const auto size = write(report, &error, sizeof error);
    _exit(127);
  }
};

}  // namespace

Launched launch(const Launch& launch, const Inherited& inherited) {
  const auto arguments = pointers(launch.arguments);
  const auto environment = pointers(launch.environment);
  std::vector<std::string> shell_words{"sh", launch.path};
  shell_words.insert(shell_words.end(), launch.arguments.begin() + 1, launch.arguments.end());
  const auto shell_arguments = pointers(shell_words);
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return {-1, errno};
  const Fd reading(ends[0]);
  Fd writing(ends[1]);
  const Child child{
      launch, inherited, getpid(), writing.get(), arguments.data(), shell_arguments.data(), environment.data()};
  const pid_t pid = fork();
  if (pid == 0) child.run();
  if (pid < 0) return {-1, errno};
  writing.reset();
  int error = 0;
  ssize_t size;
  do size = read(reading.get(), &error, sizeof error);
  while (size < 0 && errno == EINTR);
  return {pid, size == sizeof error ? error : 0};
}

Program find_program(const std::string& name, std::string_view search_path) {
  const auto check = [](const std::string& path) {
    struct stat info {};
    if (stat(path.c_str(), &info) != 0) return errno;
    if (S_ISDIR(info.st_mode)) return EISDIR;
    return access(path.c_str(), X_OK) == 0 ? 0 : errno;
  };
  if (name.find('/') != std::string::npos) return {name, check(name)};
  int error = ENOENT;
  while (true) {
    const auto colon = search_path.find(':');
    const auto folder = search_path.substr(0, colon);
    const auto path = folder.empty() ? "./" + name : std::string(folder) + "/" + name;
    const int reason = check(path);
    if (reason == 0) return {path, 0};
    if (reason == EACCES) error = EACCES;
    if (colon == std::string_view::npos) return {name, error};
    search_path.remove_prefix(colon + 1);
  }
}

std::vector<ProcessStat> descendants_of(pid_t root, const std::vector<ProcessStat>& all) {
  std::unordered_multimap<pid_t, const ProcessStat*> children;
  for (const auto& process : all) children.emplace(process.parent, &process);
  std::vector<ProcessStat> found;
  std::vector<pid_t> open{root};
  while (!open.empty()) {
    const auto [begin, end] = children.equal_range(open.back());
    open.pop_back();
    for (auto child = begin; child != end; ++child) {
      if (child->second->state != 'Z') found.push_back(*child->second);
      open.push_back(child->first == child->second->pid ? root : child->second->pid);
    }
    children.erase(begin, end);  // also ends a circle, which a snapshot that is not of one moment can show
  }
  return found;
}

std::vector<ProcessStat> descendants() {
  std::vector<ProcessStat> all;
  const std::unique_ptr<DIR, int (*)(DIR*)> folder(opendir("/proc"), closedir);
  while (const dirent* entry = folder ? readdir(folder.get()) : nullptr) {
    if (entry->d_name[0] < '1' || entry->d_name[0] > '9') continue;
    if (auto stat = process_stat(entry->d_name); stat.pid != 0) all.push_back(std::move(stat));
  }
  return descendants_of(getpid(), all);
}

void signal_process(const ProcessStat& process, int number) {
  // The descriptor keeps naming the process it was opened for; the second look shows that this is the one meant.
  const Fd handle(static_cast<int>(syscall(SYS_pidfd_open, process.pid, 0)));
  const bool unavailable = !handle.valid() && (errno == ENOSYS || errno == EPERM);  // old kernels, strict containers
  const auto again = process_stat(std::to_string(process.pid));
  if (again.pid == 0 || again.start_time != process.start_time) return;
  if (handle.valid()) {
    syscall(SYS_pidfd_send_signal, handle.get(), number, nullptr, 0);
  } else if (unavailable) {
    kill(process.pid, number);
  }
}

}  // namespace ronde::launcher
