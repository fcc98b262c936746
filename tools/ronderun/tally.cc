#include "ronderun/tally.h"

#include <utility>

namespace ronde::launcher {

void Tally::rank_ended(int host, const RankEnd& end) {
  --left_;
  ++ended_of_host_[host];
  if (!end.failed()) {
    one_succeeded_ = true;
    return;
  }
  if (first_failure_ == 0) first_failure_ = end.exit_code();
  if (first_error_exit_ == 0 && !end.killed()) first_error_exit_ = end.exit_code();
}

int Tally::host_lost(int host, int ranks) {
  const int lost = ranks - std::exchange(ended_of_host_[host], ranks);
  left_ -= lost;
  if (first_failure_ == 0) first_failure_ = 1;
  return lost;
}

}  // namespace ronde::launcher
