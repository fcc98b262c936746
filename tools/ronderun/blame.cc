#include "ronderun/blame.h"

#include <fmt/format.h>
#include <sys/wait.h>

#include <algorithm>
#include <csignal>
#include <cstring>

namespace ronde::launcher {
namespace {

// SIGABRT is how many programs end on an error that another rank caused (assert, std::terminate).
bool died_by_itself(const RankEnd& end) { return WIFSIGNALED(end.status) && WTERMSIG(end.status) != SIGABRT; }

}  // namespace

std::string describe_status(int status) {
  if (!WIFSIGNALED(status)) return fmt::format("ended with exit code {}", WEXITSTATUS(status));
  const int number = WTERMSIG(status);
  return fmt::format("was killed by signal {} ({})", number, strsignal(number));
}

bool RankEnd::killed() const { return WIFSIGNALED(status); }

int RankEnd::exit_code() const { return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status); }

std::string RankEnd::describe() const {
  return fmt::format("rank {} (pid {} on {}) {}", rank, pid, host, describe_status(status));
}

void Blame::add(RankEnd end, Time now) {
  if (ends_.empty()) due_ = Deadline::at(now + kWait);
  if (died_by_itself(end)) due_ = due_.earlier(Deadline::at(now));  // nothing can outdo it
  ends_.push_back(std::move(end));
}

std::optional<RankEnd> Blame::verdict(Time now) const {
  if (ends_.empty() || !due_.passed(now)) return std::nullopt;
  const auto signalled = std::find_if(ends_.begin(), ends_.end(), died_by_itself);
  return signalled != ends_.end() ? *signalled : ends_.front();
}

}  // namespace ronde::launcher
