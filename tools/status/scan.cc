#include "status/scan.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <filesystem>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <system_error>
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

// A folder stands for the black boxes in it.
std::vector<std::string> with_folders_opened(const std::vector<std::string>& paths,
                                             std::vector<std::string>& problems) {
  std::vector<std::string> files;
  for (const std::string& path : paths) {
    std::error_code error;
    if (!std::filesystem::is_directory(path, error)) {
      files.push_back(path);
      continue;
    }
    std::set<std::string> boxes;
    for (std::filesystem::directory_iterator entry(path, error), end; !error && entry != end; entry.increment(error)) {
      if (entry->path().filename().string().starts_with(black_box::kMemoryName)) boxes.insert(entry->path().string());
    }
    if (error) {
      problems.push_back(path + ": " + error.message());
    } else if (boxes.empty()) {
      problems.push_back(fmt::format("{}: no file {}.* in this folder", path, black_box::kMemoryName));
    }
    files.insert(files.end(), boxes.begin(), boxes.end());
  }
  return files;
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

Found read_files(const std::vector<std::string>& arguments, size_t operations) {
  Found found;
  std::set<std::pair<dev_t, ino_t>> known;
  for (const std::string& path : with_folders_opened(arguments, found.problems)) {
    const Fd file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
    struct stat info {};
    if (!file.valid() || fstat(file.get(), &info) != 0) {
      found.problems.push_back(system_error(path, errno).message());
      continue;
    }
    if (!S_ISREG(info.st_mode)) {
      found.problems.push_back(path + ": neither a file nor a folder");
      continue;
    }
    if (!known.insert({info.st_dev, info.st_ino}).second) continue;  // named twice
    const Time last = last_moment_in(file.get());
    auto recording = read_black_box(file.get(), operations, last);
    if (!recording.ok()) {
      found.problems.push_back(path + ": " + recording.status().message());
      continue;
    }
    found.processes.push_back({std::move(*recording), 0, ProcessState::ended});
    found.as_of = std::max(found.as_of, last);
  }
  return found;
}

Found find_processes(size_t operations) {
  Found found;
  found.as_of = Clock::now();
  Boxes boxes;
  for (const std::string& pid : numbers_in("/proc")) add_boxes_of(pid, boxes);
  for (const auto& [inode, box] : boxes) {
    auto recording = read_black_box(box.fd.get(), operations, Clock::now());
    if (recording.status().code() == rondeInvalidUsage)
      found.problems.push_back(
          fmt::format("held by process {}: {}", box.holders.front(), recording.status().message()));
    if (!recording.ok()) continue;
    FoundProcess& process = found.processes.emplace_back();
    process.recording = std::move(*recording);
    find_writer(box.holders, process);
  }
  std::sort(found.processes.begin(), found.processes.end(),
            [](const FoundProcess& a, const FoundProcess& b) { return a.pid < b.pid; });
  return found;
}

}  // namespace ronde::status
