#include "cases/support/open_files.h"

#include <sys/socket.h>
#include <unistd.h>

#include <cstring>

namespace ronde::cases {
namespace {

constexpr int kNumbers = 1024;

// "/proc/self/fd/" and the number.
std::array<char, 32> path_of(int number) {
  std::array<char, 32> path{"/proc/self/fd/"};
  char digits[8];
  size_t count = 0;
  do digits[count++] = static_cast<char>('0' + number % 10);
  while ((number /= 10) > 0);
  size_t at = std::strlen(path.data());
  while (count > 0) path[at++] = digits[--count];
  return path;
}

bool is_netlink(int number) {
  sockaddr_storage address{};
  socklen_t size = sizeof address;
  return getsockname(number, reinterpret_cast<sockaddr*>(&address), &size) == 0 && address.ss_family == AF_NETLINK;
}

}  // namespace

OpenFiles OpenFiles::now() {
  OpenFiles all;
  for (int number = 0; number < kNumbers && all.count_ < static_cast<int>(all.files_.size()); ++number) {
    OpenFile file;
    const ssize_t size = readlink(path_of(number).data(), file.name.data(), file.name.size() - 1);
    if (size < 0 || std::strncmp(file.name.data(), "pipe:", 5) == 0 || is_netlink(number)) continue;
    file.number = number;
    all.files_[static_cast<size_t>(all.count_++)] = file;
  }
  return all;
}

bool OpenFiles::has(const OpenFile& file) const {
  for (int i = 0; i < count_; ++i) {
    const OpenFile& one = files_[static_cast<size_t>(i)];
    if (one.number == file.number && one.name == file.name) return true;
  }
  return false;
}

const OpenFile* OpenFiles::first_beyond(const OpenFiles& before) const {
  for (int i = 0; i < count_; ++i) {
    if (!before.has(files_[static_cast<size_t>(i)])) return &files_[static_cast<size_t>(i)];
  }
  return nullptr;
}

int OpenFiles::number_beyond(const OpenFiles& before) const {
  int beyond = 0;
  for (int i = 0; i < count_; ++i) beyond += before.has(files_[static_cast<size_t>(i)]) ? 0 : 1;
  return beyond;
}

}  // namespace ronde::cases
