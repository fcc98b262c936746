// The part of checks.h that finds out which program has a port: the kernel's tables of sockets tell the socket, and the
// descriptors of all processes that this user may look at tell who has it.
#include <dirent.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <functional>
#include <memory>
#include <set>
#include <sstream>

#include "base/printable.h"
#include "doctor/checks.h"

namespace ronde::doctor {
namespace {

constexpr const char* kListening = "0A";  // TCP_LISTEN

// Inode numbers of the sockets that listen on the port.
std::set<std::string> listening_sockets(uint16_t port) {
  std::set<std::string> inodes;
  for (const char* table : {"/proc/net/tcp", "/proc/net/tcp6"}) {
    std::ifstream file(table);
    for (std::string line; std::getline(file, line);) {
      // sl local remote st tx:rx tr:tm retransmits uid timeout inode ...
      std::istringstream fields(line);
      std::array<std::string, 10> field;
      for (auto& one : field) fields >> one;
      if (field[3] == kListening && field[1].ends_with(fmt::format(":{:04X}", port))) inodes.insert(field[9]);
    }
  }
  return inodes;
}

// Calls for each entry of a folder until it returns true; false if it never does, or the folder cannot be read.
bool any_entry(const std::string& folder, const std::function<bool(const std::string&)>& call) {
  const std::unique_ptr<DIR, int (*)(DIR*)> open(opendir(folder.c_str()), closedir);
  if (!open) return false;
  while (const dirent* entry = readdir(open.get())) {
    if (call(entry->d_name)) return true;
  }
  return false;
}

bool has_one_of(const std::string& process, const std::set<std::string>& inodes) {
  const std::string folder = "/proc/" + process + "/fd/";
  return any_entry(folder, [&](const std::string& name) {
    std::array<char, 64> target{};
    const ssize_t size = readlink((folder + name).c_str(), target.data(), target.size());
    const std::string_view text(target.data(), static_cast<size_t>(std::max<ssize_t>(size, 0)));
    return text.starts_with("socket:[") && inodes.contains(std::string(text.substr(8, text.size() - 9)));
  });
}

}  // namespace

std::string owner_of_port(uint16_t port) {
  const std::set<std::string> inodes = listening_sockets(port);
  std::string owner;
  if (inodes.empty()) return owner;
  any_entry("/proc", [&](const std::string& process) {
    if (process.find_first_not_of("0123456789") != std::string::npos || !has_one_of(process, inodes)) return false;
    std::ifstream file("/proc/" + process + "/comm");
    std::string name;
    std::getline(file, name);
    owner = fmt::format("{} (process {})", printable(name), process);  // another user may have chosen it
    return true;
  });
  return owner;
}

}  // namespace ronde::doctor
