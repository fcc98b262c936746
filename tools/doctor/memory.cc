// The part of checks.h that finds out how much memory is left.
#include <algorithm>
#include <fstream>
#include <limits>
#include <string>

#include "doctor/checks.h"

namespace ronde::doctor {
namespace {

constexpr size_t kNoLimit = std::numeric_limits<size_t>::max();

// A file with one number; kNoLimit for "max" and for what cannot be read.
size_t number_in(const std::string& path) {
  std::ifstream file(path);
  size_t number = 0;
  return file >> number ? number : kNoLimit;
}

// What one control group leaves.
size_t room_in(const std::string& folder, const char* limit_file, const char* usage_file) {
  const size_t limit = number_in(folder + limit_file);
  const size_t usage = number_in(folder + usage_file);
  if (limit == kNoLimit || usage == kNoLimit) return kNoLimit;
  return limit - std::min(limit, usage);
}

// In the own group and all groups above it; inside a container the root may be its own.
size_t room_of_groups(const std::string& root, std::string path, const char* limit_file, const char* usage_file) {
  size_t least = kNoLimit;
  for (;;) {
    least = std::min(least, room_in(root + path, limit_file, usage_file));
    if (path.empty() || path == "/") return least;
    path.erase(path.rfind('/'));
  }
}

size_t room_of_control_groups() {
  size_t least = kNoLimit;
  std::ifstream groups("/proc/self/cgroup");
  for (std::string line; std::getline(groups, line);) {
    const size_t first = line.find(':');
    const size_t second = first == std::string::npos ? first : line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string controllers = "," + line.substr(first + 1, second - first - 1) + ",";
    const std::string path = line.substr(second + 1);
    if (controllers == ",,") {
      least = std::min(least, room_of_groups("/sys/fs/cgroup", path, "/memory.max", "/memory.current"));
    } else if (controllers.find(",memory,") != std::string::npos) {
      least = std::min(
          least, room_of_groups("/sys/fs/cgroup/memory", path, "/memory.limit_in_bytes", "/memory.usage_in_bytes"));
    }
  }
  return least;
}

}  // namespace

size_t available_memory() {
  size_t machine = kNoLimit;
  std::ifstream file("/proc/meminfo");
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("MemAvailable:")) machine = std::stoull(line.substr(line.find(':') + 1)) * 1024;
  }
  const size_t least = std::min(machine, room_of_control_groups());
  return least == kNoLimit ? 0 : least;
}

}  // namespace ronde::doctor
