// A file descriptor with an owner.
#pragma once

#include <unistd.h>

#include <utility>

#include "base/fork_guard.h"

namespace ronde {

class Fd {
 public:
  Fd() = default;
  // Owns what somebody else has made, for programs and tests: forked children inherit it. The library itself uses
  // make().
  explicit Fd(int fd) : fd_(fd) {}

  // Owns what the call returns (a descriptor, or -1 with errno): a forked child never has it, whenever the fork comes.
  // The call runs in a Section of fork_guard.h.
  template <typename Call>
  [[nodiscard]] static Fd make(Call call) {
    const fork_guard::Section section;
    return made_in(section, call());
  }
  // The same for a call that makes several.
  [[nodiscard]] static Fd made_in(const fork_guard::Section& section, int fd) {
    return {section.keep(fd), fork_guard::generation()};
  }

  Fd(Fd&& other) noexcept : fd_(std::exchange(other.fd_, -1)), made_in_(other.made_in_) {}
  Fd& operator=(Fd&& other) noexcept {
    if (this != &other) {
      reset();
      fd_ = std::exchange(other.fd_, -1);
      made_in_ = other.made_in_;
    }
    return *this;
  }
  Fd(const Fd&) = delete;
  Fd& operator=(const Fd&) = delete;
  ~Fd() { reset(); }

  [[nodiscard]] int get() const { return fd_; }
  [[nodiscard]] bool valid() const { return fd_ >= 0; }
  // Made by a process that this one was forked from: closed here, and the number may be another file's.
  [[nodiscard]] bool is_inherited() const { return made_in_ != kUnguarded && made_in_ != fork_guard::generation(); }
  void reset() {
    const int fd = std::exchange(fd_, -1);
    if (fd < 0) return;
    if (made_in_ == kUnguarded) {
      ::close(fd);
    } else {
      fork_guard::Section().close(fd, made_in_);
    }
  }

 private:
  static constexpr uint32_t kUnguarded = 0;

  Fd(int fd, uint32_t made_in) : fd_(fd), made_in_(made_in) {}

  int fd_ = -1;
  uint32_t made_in_ = kUnguarded;  // generation of the process
};

}  // namespace ronde
