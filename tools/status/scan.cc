#include "status/scan.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "base/fd.h"
#include "base/host.h"
#include "base/read_file.h"

namespace ronde::status {
namespace {

// One memory file and the processes that hold it.
struct Box {
  Fd fd;
  std::vector<pid_t> holders;
};
using Boxes = std::map<std::pair<dev_t, ino_t>, Box>;

std::vector<std::string> numbers_in(const std::string& folder) {
  std::vector<std::string> names;
  const std::unique_ptr<DIR, int (*)(DIR*)> open(opendir(folder.c_str()), closedir);
  while (const dirent* entry = open ? readdir(open.get()) : nullptr) {
    if (entry->d_name[0] >= '0' && entry->d_name[0] <= '9') names.emplace_back(entry->d_name);
  }
  return names;
}

void add_boxes_of(const std::string& pid, Boxes& boxes) {
  const std::string folder = "/proc/" + pid + "/fd/";
  for (const std::string& number : numbers_in(folder)) {
    if (!is_black_box(folder + number)) continue;
    Fd fd(open((folder + number).c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));  // it may be a pipe of that name
    struct stat info {};
    if (!fd.valid() || fstat(fd.get(), &info) != 0 || !S_ISREG(info.st_mode)) continue;
    Box& box = boxes[{info.st_dev, info.st_ino}];
    if (!box.fd.valid()) box.fd = std::move(fd);
    const pid_t holder = static_cast<pid_t>(std::stol(pid));
    if (std::find(box.holders.begin(), box.holders.end(), holder) == box.holders.end()) box.holders.push_back(holder);
  }
}

// Among the holders the one that writes the box.
void find_writer(const std::vector<pid_t>& holders, FoundProcess& process) {
  for (const pid_t holder : holders) {
    const std::string text = read_file("/proc/" + std::to_string(holder) + "/status");
    if (own_pid_of(text).value_or(0) != static_cast<pid_t>(process.recording.pid)) continue;
    // In containers the processes of several may have the same number.
    if (process_stat(std::to_string(holder)).start_time != process.recording.start_time) continue;
    const bool stopped = text.find("\nState:\tT") != std::string::npos || text.find("\nState:\tt") != std::string::npos;
    process.pid = holder;
    process.state = stopped ? ProcessState::stopped : ProcessState::lives;
    return;
  }
}

}  // namespace

std::optional<pid_t> own_pid_of(std::string_view proc_status) {
  constexpr std::string_view kLine = "\nNSpid:";
  const size_t begin = proc_status.find(kLine);
  if (begin == std::string_view::npos) return std::nullopt;
  std::string_view numbers = proc_status.substr(begin + kLine.size());
  numbers = numbers.substr(0, numbers.find('\n'));
  const size_t last = numbers.find_last_of(" \t");
  if (last != std::string_view::npos) numbers.remove_prefix(last + 1);
  pid_t pid = 0;
  const auto [end, error] = std::from_chars(numbers.data(), numbers.data() + numbers.size(), pid);
  return error == std::errc() && end == numbers.data() + numbers.size() ? std::optional(pid) : std::nullopt;
}

FoundFiles read_files(const std::vector<std::string>& paths, size_t operations) {
  FoundFiles found;
  for (const std::string& path : paths) {
    const Fd file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
    struct stat info {};
    if (!file.valid() || fstat(file.get(), &info) != 0) {
      found.problems.push_back(system_error(path, errno).message());
      continue;
    }
    if (!S_ISREG(info.st_mode)) {
      found.problems.push_back(path + ": no plain file; name the black boxes themselves");
      continue;
    }
    const Time last = last_moment_in(file.get());
    auto recording = read_black_box(file.get(), operations, last);
    if (!recording.ok()) {
      found.problems.push_back(path + ": " + recording.status().message());
      continue;
    }
    found.processes.push_back({std::move(*recording), 0, ProcessState::ended});
    found.last_moment = std::max(found.last_moment, last);
  }
  return found;
}

std::vector<FoundProcess> find_processes(size_t operations) {
  Boxes boxes;
  for (const std::string& pid : numbers_in("/proc")) add_boxes_of(pid, boxes);
  std::vector<FoundProcess> found;
  for (const auto& [inode, box] : boxes) {
    auto recording = read_black_box(box.fd.get(), operations, Clock::now());
    if (!recording.ok()) continue;
    FoundProcess& process = found.emplace_back();
    process.recording = std::move(*recording);
    find_writer(box.holders, process);
  }
  std::sort(found.begin(), found.end(), [](const FoundProcess& a, const FoundProcess& b) { return a.pid < b.pid; });
  return found;
}

}  // namespace ronde::status
