// How a job ends whose ranks may fail while the others go on (--keep-going), and how many ranks are left of any job.
// Pure.
#pragma once

#include <map>

#include "ronderun/blame.h"

namespace ronde::launcher {

class Tally {
 public:
  explicit Tally(int nranks) : left_(nranks) {}

  // A rank of that host has ended. host: a number of the caller's.
  void rank_ended(int host, const RankEnd& end);
  // Nothing more will be heard of a host that had so many ranks. Those that have not ended are lost: how many.
  int host_lost(int host, int ranks);

  [[nodiscard]] int left() const { return left_; }
  // Once no rank is left: 0 if all have ended with 0. Ranks that were killed or lost do not count, as long as one has
  // ended with 0; else it is that of the first that failed. Of ranks that ended by themselves the first one's error
  // counts always.
  [[nodiscard]] int exit_code() const { return one_succeeded_ ? first_error_exit_ : first_failure_; }

 private:
  int left_;
  std::map<int, int> ended_of_host_;
  bool one_succeeded_ = false;
  int first_failure_ = 0;     // exit code of the first that failed in any way
  int first_error_exit_ = 0;  // and of the first that did without being killed
};

}  // namespace ronde::launcher
