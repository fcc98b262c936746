// A forked child of the test that reports through a pipe.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <functional>
#include <string>

namespace ronde::cases {

class Child {
 public:
  // Forks. The child runs body, reports what it returns ("" for well), and ends by exit(0), so that the library's exit
  // handlers run too; it also ends when the test's process ends.
  explicit Child(const std::function<std::string()>& body);
  // A child that still runs is killed.
  ~Child();
  Child(Child&& other) noexcept;
  Child& operator=(Child&&) = delete;

  // Waits for the end of the child, kills it at the deadline. Returns its report, and a line about `who` if it was
  // killed or ended with an exit code other than 0; "" if all is well.
  std::string end_by(std::chrono::steady_clock::time_point deadline, const std::string& who);

 private:
  std::string read_report(std::chrono::steady_clock::time_point deadline, bool* in_time);

  pid_t pid_ = -1;
  int report_ = -1;
};

}  // namespace ronde::cases
