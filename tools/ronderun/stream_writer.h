// Writes to a descriptor of the user's (a terminal, a pipe, a file) that may block and must not be set to non-blocking,
// because others share it. A thread does it; the owner sees how much is waiting and whether writing failed.
#pragma once

#include <memory>
#include <string>

namespace ronde::launcher {

class StreamWriter {
 public:
  static constexpr size_t kHighBytes = 4 << 20;
  static constexpr size_t kLowBytes = 1 << 20;

  // The descriptor stays the caller's. Needs SIGPIPE to be ignored.
  explicit StreamWriter(int fd);
  // Drops what is waiting. Leaves a thread that is stuck in writing behind: the process is about to end.
  ~StreamWriter();
  StreamWriter(const StreamWriter&) = delete;
  StreamWriter& operator=(const StreamWriter&) = delete;

  void write(std::string bytes);
  [[nodiscard]] size_t waiting() const;  // bytes that are not written yet; 0 after an error
  [[nodiscard]] int error() const;       // the errno that ended writing, or 0
  // Readable after waiting() has fallen below kLowBytes or to 0, or after an error; acknowledge() resets it.
  [[nodiscard]] int event_fd() const;
  void acknowledge();

 private:
  struct Shared;
  static void run(const std::shared_ptr<Shared>& shared);
  std::shared_ptr<Shared> shared_;
};

}  // namespace ronde::launcher
