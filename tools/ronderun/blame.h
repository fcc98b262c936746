// Which rank is to blame when a job fails. A rank's end makes others fail soon after it, so the first that is heard of
// is not always the cause: for a short time others are waited for, and a death by signal counts more than an error
// exit. Pure: fed with times.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/deadline.h"

namespace ronde::launcher {

// How one rank ended.
struct RankEnd {
  int rank = 0;
  int pid = 0;
  std::string host;
  int status = 0;                       // as of waitpid
  std::vector<std::string> activities;  // what it did last, in words; empty if that is not known

  [[nodiscard]] bool failed() const { return status != 0; }
  [[nodiscard]] bool killed() const;           // by a signal
  [[nodiscard]] int exit_code() const;         // as a shell reports it: 128 + number for a signal
  [[nodiscard]] std::string describe() const;  // "rank 2 (pid 4242 on node1) ended with exit code 3"
};

class Blame {
 public:
  static constexpr Milliseconds kWait{200};

  // Takes a failed rank, in the order in which they were heard of.
  void add(RankEnd end, Time now);
  // When verdict() will give an answer.
  [[nodiscard]] Deadline due() const { return due_; }
  // The rank to blame; nothing before due().
  [[nodiscard]] std::optional<RankEnd> verdict(Time now) const;

 private:
  std::vector<RankEnd> ends_;
  Deadline due_ = Deadline::never();
};

// "exit code 3", "signal 9 (Killed)" with the verb before it: "ended with exit code 3", "was killed by signal 9
// (Killed)".
std::string describe_status(int status);

}  // namespace ronde::launcher
