// The open files of the calling process, found without allocation: in a forked child of a process with threads, too.
#pragma once

#include <array>
#include <string>

namespace ronde::cases {

struct OpenFile {
  int number = -1;
  std::array<char, 64>
      name{};  // what /proc says: "socket:[4711]", "/memfd:ronde (deleted)", "anon_inode:[eventfd]", a path
};

class OpenFiles {
 public:
  // All of the first 1,024 numbers but pipes, which are the test's, and netlink sockets: getifaddrs has one for a
  // moment.
  static OpenFiles now();

  // The first that `before` does not have; nullptr: none.
  [[nodiscard]] const OpenFile* first_beyond(const OpenFiles& before) const;
  // How many there are beyond those of `before`.
  [[nodiscard]] int number_beyond(const OpenFiles& before) const;
  [[nodiscard]] int greatest_number() const {
    return count_ == 0 ? -1 : files_[static_cast<size_t>(count_) - 1].number;
  }

 private:
  [[nodiscard]] bool has(const OpenFile& file) const;

  std::array<OpenFile, 256> files_{};  // by number
  int count_ = 0;
};

}  // namespace ronde::cases
