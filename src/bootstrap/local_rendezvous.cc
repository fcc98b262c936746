// A rendezvous of ranks that all live in this process: a mutex and a condition variable, with the same rules as the one
// over sockets.
#include <fmt/format.h>

#include <condition_variable>
#include <mutex>
#include <optional>

#include "base/log.h"
#include "bootstrap/failure_watch.h"
#include "bootstrap/messages.h"
#include "bootstrap/rendezvous.h"

namespace ronde {
namespace {

constexpr Milliseconds kMissingWarning{10'000};

// What the ranks share. Any thread.
class Meeting {
 public:
  explicit Meeting(size_t nranks) : members_(nranks) {
    for (Member& member : members_) member.watch = std::make_shared<FailureWatch>();
  }

  Result<std::vector<Bytes>> exchange(size_t rank, std::string_view what, ByteView mine, Deadline deadline) {
    std::unique_lock lock(mutex_);
    Member& self = members_[rank];
    if (const Status obstacle = obstacle_for(self, what); !obstacle.ok()) return obstacle;
    for (size_t other = 0; other < members_.size(); ++other) {
      if (members_[other].state != State::left) continue;
      const Status failure(rondeRemoteError, fmt::format("rank {} left, but rank {} still waits for it", other, rank));
      fail(lock, failure, other);
      return failure;
    }
    self.part = Bytes(mine.begin(), mine.end());
    const uint64_t round = round_;
    if (++parts_ == members_.size()) {
      complete_round();
    } else if (const Status waited = wait_for_round(lock, self, rank, round, what, deadline); !waited.ok()) {
      return waited;
    }
    return *table_;
  }

  void report(size_t rank, const Status& why) {
    std::unique_lock lock(mutex_);
    Member& self = members_[rank];
    if (self.state != State::present || self.own_failure) return;
    self.own_failure = why;
    changed_.notify_all();
    fail(lock, {why.code(), fmt::format("rank {}: {}", rank, why.message())}, rank);
  }

  void watch(size_t rank, std::function<void(Status)> failed) {
    std::shared_ptr<FailureWatch> watch;
    {
      const std::scoped_lock lock(mutex_);
      watch = members_[rank].watch;
    }
    watch->set(std::move(failed));
  }

  void leave(size_t rank) {
    std::unique_lock lock(mutex_);
    Member& self = members_[rank];
    if (self.state == State::present) {
      self.state = State::left;
      changed_.notify_all();
      if (parts_ > (self.part ? 1u : 0u))
        fail(lock, {rondeRemoteError, fmt::format("rank {} left while others still waited for it", rank)}, rank);
    }
    const std::shared_ptr<FailureWatch> watch = self.watch;
    if (lock.owns_lock()) lock.unlock();
    watch->cancel();
  }

  void lose(size_t rank) {
    std::unique_lock lock(mutex_);
    Member& self = members_[rank];
    if (self.state != State::present) return;
    self.state = State::lost;
    const std::shared_ptr<FailureWatch> watch = self.watch;
    fail(lock, {rondePeerLost, fmt::format("rank {} ended without saying goodbye", rank)}, rank);
    if (lock.owns_lock()) lock.unlock();
    watch->cancel();
  }

 private:
  enum class State { present, left, lost };
  struct Member {
    State state = State::present;
    std::optional<Bytes> part;  // of the round in progress
    std::optional<Status> own_failure;
    std::shared_ptr<FailureWatch> watch;
  };

  // Why this rank cannot (go on to) exchange.
  Status obstacle_for(const Member& self, std::string_view what) const {
    if (self.own_failure) return *self.own_failure;
    if (failure_) return *failure_;
    if (self.state != State::present) return {rondeInvalidUsage, fmt::format("{}: this rank has said goodbye", what)};
    return {};
  }

  void complete_round() {
    table_ = std::make_shared<std::vector<Bytes>>();
    for (Member& member : members_) {
      table_->push_back(std::move(*member.part));
      member.part.reset();
    }
    parts_ = 0;
    ++round_;
    changed_.notify_all();
  }

  Status wait_for_round(std::unique_lock<std::mutex>& lock, Member& self, size_t rank, uint64_t round,
                        std::string_view what, Deadline deadline) {
    const Time began = Clock::now();
    Time next_warning = began + kMissingWarning;
    while (round_ == round) {
      if (const Status obstacle = obstacle_for(self, what); !obstacle.ok()) return obstacle;
      const Time now = Clock::now();
      const double waited = std::chrono::duration<double>(now - began).count();
      if (deadline.passed(now)) {
        const Status why(rondeTimedOut, fmt::format("{}: waited {:.1f} s for {}", what, waited, ranks_text(missing())));
        self.own_failure = why;
        fail(lock, {why.code(), fmt::format("rank {}: {}", rank, why.message())}, rank);
        return why;
      }
      if (now >= next_warning) {
        next_warning = now + kMissingWarning;
        log::warn("rank {} has waited {:.1f} s for {} ({})", rank, waited, ranks_text(missing()), what);
      }
      changed_.wait_until(lock, std::min(next_warning, deadline.time()));
    }
    return {};
  }

  [[nodiscard]] std::vector<uint32_t> missing() const {
    std::vector<uint32_t> ranks;
    for (size_t rank = 0; rank < members_.size(); ++rank)
      if (!members_[rank].part) ranks.push_back(static_cast<uint32_t>(rank));
    return ranks;
  }

  // Entered with the lock; left without it where somebody had to be told: callbacks take locks of their own.
  void fail(std::unique_lock<std::mutex>& lock, const Status& failure, size_t origin) {
    if (failure_) return;
    failure_ = failure;
    changed_.notify_all();
    std::vector<std::shared_ptr<FailureWatch>> told;
    for (size_t rank = 0; rank < members_.size(); ++rank)
      if (rank != origin && members_[rank].state == State::present) told.push_back(members_[rank].watch);
    lock.unlock();
    for (const auto& watch : told) watch->fire(failure);
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Member> members_;
  size_t parts_ = 0;  // handed in, of the round in progress
  uint64_t round_ = 0;
  std::shared_ptr<std::vector<Bytes>> table_;  // of the last complete round
  std::optional<Status> failure_;
};

class LocalRendezvous final : public Rendezvous {
 public:
  LocalRendezvous(std::shared_ptr<Meeting> meeting, size_t rank) : meeting_(std::move(meeting)), rank_(rank) {}
  ~LocalRendezvous() override { meeting_->lose(rank_); }
  LocalRendezvous(const LocalRendezvous&) = delete;
  LocalRendezvous& operator=(const LocalRendezvous&) = delete;

  Result<std::vector<Bytes>> exchange(std::string_view what, ByteView mine, Deadline deadline) override {
    return meeting_->exchange(rank_, what, mine, deadline);
  }
  void watch(std::function<void(Status)> failed) override { meeting_->watch(rank_, std::move(failed)); }
  void report(const Status& why) override { meeting_->report(rank_, why); }
  void leave() override { meeting_->leave(rank_); }
  [[nodiscard]] bool within_process() const override { return true; }

 private:
  std::shared_ptr<Meeting> meeting_;
  size_t rank_;
};

}  // namespace

std::vector<std::unique_ptr<Rendezvous>> local_rendezvous(int nranks) {
  const auto meeting = std::make_shared<Meeting>(static_cast<size_t>(nranks));
  std::vector<std::unique_ptr<Rendezvous>> ranks;
  for (int rank = 0; rank < nranks; ++rank)
    ranks.push_back(std::make_unique<LocalRendezvous>(meeting, static_cast<size_t>(rank)));
  return ranks;
}

}  // namespace ronde
