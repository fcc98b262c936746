#include "control/shrink.h"

#include <fmt/format.h>

#include <algorithm>

#include "bootstrap/messages.h"
#include "control/graph.h"

namespace ronde {
namespace {

// Ranks that have not called shrink do not answer yet, and an answer is lost with a rank that was to pass it on.
constexpr Milliseconds kAskEvery{250};
constexpr size_t kMostPending = 8;

}  // namespace

// ---- Of this rank --------------------------------------------------------------------------------------------------

void Shrink::begin(const std::set<uint32_t>& without, Time now, const std::optional<Status>& refusal) {
  if (active()) end_undecided();
  ++number_;
  out_ = gone_;
  promised_ = ballot_ = {};
  asking_ = meeting_is_due_ = false;
  answered_.clear();
  heard_.reset();
  overheard_.reset();
  refused_ = refusal;
  last_asked_.reset();
  told_missing_.clear();
  out_.insert(without.begin(), without.end());
  const auto early = early_.find(number_);
  if (early != early_.end() && is_refusal_from_outside({number_, early->second, *decision()}))
    decisions_.erase(number_);
  early_.erase(early_.begin(), early_.upper_bound(number_));
  if (decision() != nullptr) return;  // the others have decided without this rank
  check_left();
  const auto pending = pending_.find(number_);
  if (pending != pending_.end() && active()) {
    const Pending question = pending->second;
    asked(question.origin, question.word, question.question, now);
  }
  pending_.erase(pending_.begin(), pending_.upper_bound(number_));
  look(now);
}

// The others may still be at it: they hear that this rank has refused, at least.
void Shrink::end_undecided() {
  ShrinkDecision refusal{
      refused_.value_or(Status(rondeRemoteError, fmt::format("rank {} has begun another shrink", rank_))), {}, {}};
  asking_ ? commit(std::move(refusal)) : end(std::move(refusal));
}

void Shrink::give_up(const Status& why) {
  if (!active() || refused_) return;
  refused_ = why;
  if (asking_) {
    check_complete();
  } else if (last_asked_) {
    reply(*last_asked_);
  }
}

void Shrink::meet_at(const Result<Bytes>& meeting) {
  if (!wants_meeting()) return;  // another rank has taken over, or is to be waited for
  if (!meeting.ok()) return commit({meeting.status(), {}, {}});
  commit({{}, members(), *meeting});
}

// ---- From others ---------------------------------------------------------------------------------------------------

void Shrink::gone(uint32_t rank, Time now) {
  if (!gone_.insert(rank).second) return;
  if (!active()) return;
  exclude({rank});
  look(now);
}

void Shrink::asked(uint32_t origin, uint32_t word, const ShrinkQuestion& question, Time now) {
  const Pending pending{origin, word, question};
  if (decisions_.contains(question.number)) {
    const bool is_out = question.number == number_ && out_.contains(rank_);  // then it knows nothing of the others
    if (!is_out) reply(pending);
    return;
  }
  if (question.number > number_) {
    const auto before = pending_.find(question.number);
    if (before == pending_.end() && pending_.size() >= kMostPending) return;
    if (before == pending_.end() || before->second.question.ballot <= question.ballot)
      pending_[question.number] = pending;
    return;
  }
  exclude(question.out);
  if (!active()) return;
  if (question.ballot > promised_) {
    promised_ = question.ballot;
    meeting_is_due_ = false;
  }
  last_asked_ = pending;
  told_missing_ = question.missing;
  std::erase(told_missing_, rank_);
  reply(pending);
  look(now);
}

void Shrink::reply(const Pending& pending) {
  ShrinkAnswer answer{pending.question.number, promised_, out_, std::nullopt, refused_};
  const auto known = decisions_.find(answer.number);
  if (known != decisions_.end()) answer.decision = known->second;
  replies_.push_back({pending.origin, pending.word, std::move(answer)});
}

void Shrink::answered(uint32_t who, const ShrinkAnswer& answer, Time now) {
  if (answer.number != number_ || !active() || !asking_ || out_.contains(who)) return;
  exclude(answer.out);
  if (!active()) return;
  promised_ = std::max(promised_, answer.promised);
  // That nobody goes on may be what one rank alone has ended with; that some do was decided.
  if (answer.decision && !(heard_ && heard_->status.ok())) heard_ = answer.decision;
  if (answer.refusal) refused_ = answer.refusal;
  if (answer.decision || answer.promised == ballot_) answered_.insert(who);
  look(now);
}

void Shrink::committed(const ShrinkCommit& commit) {
  if (decisions_.contains(commit.number)) return;
  if (commit.number == number_ && is_refusal_from_outside(commit)) return;
  if (commit.number == number_ && commit.ballot < promised_) {
    if (!overheard_ || overheard_->ballot < commit.ballot) overheard_ = commit;
    return;
  }
  if (commit.number == number_) return end(commit.decision);
  if (commit.number <= number_) return;
  decisions_[commit.number] = commit.decision;
  early_[commit.number] = commit.ballot;
}

// Of a rank that was put out, and may not know it, without this rank's promise. What one that has gone has said may be
// all that is left of what was decided.
bool Shrink::is_refusal_from_outside(const ShrinkCommit& commit) const {
  const bool put_out = out_.contains(commit.ballot.rank) && !gone_.contains(commit.ballot.rank);
  return !commit.decision.status.ok() && put_out && commit.ballot != promised_;
}

void Shrink::advance(Time now) {
  if (active() && asking_ && now >= ask_again_) ask(now);
}

Deadline Shrink::next_deadline() const { return active() && asking_ ? Deadline::at(ask_again_) : Deadline::never(); }

// ---- What follows --------------------------------------------------------------------------------------------------

const ShrinkDecision* Shrink::decision() const {
  const auto known = decisions_.find(number_);
  return known == decisions_.end() ? nullptr : &known->second;
}

std::vector<uint32_t> Shrink::missing() const {
  const std::vector<uint32_t> left = members();
  if (!asking_) return told_missing_.empty() ? std::vector<uint32_t>{left.front()} : told_missing_;
  std::vector<uint32_t> missing;
  for (const uint32_t member : left)
    if (member != rank_ && !answered_.contains(member)) missing.push_back(member);
  return missing;
}

std::vector<uint32_t> Shrink::members() const {
  std::vector<uint32_t> members;
  for (uint32_t rank = 0; rank < nranks_; ++rank)
    if (!out_.contains(rank)) members.push_back(rank);
  return members;
}

// Ranks that are not out, but to which no way is left. Who is out and has not gone still passes words on.
std::set<uint32_t> Shrink::unreachable() const {
  std::set<uint32_t> reached{rank_};
  std::vector<uint32_t> to_visit{rank_};
  while (!to_visit.empty()) {
    const uint32_t at = to_visit.back();
    to_visit.pop_back();
    for (const uint32_t next : control_neighbours(at, nranks_))
      if (!gone_.contains(next) && reached.insert(next).second) to_visit.push_back(next);
  }
  std::set<uint32_t> cut_off;
  for (uint32_t rank = 0; rank < nranks_; ++rank)
    if (!out_.contains(rank) && !reached.contains(rank)) cut_off.insert(rank);
  return cut_off;
}

void Shrink::exclude(const std::set<uint32_t>& ranks) {
  const size_t before = out_.size();
  out_.insert(ranks.begin(), ranks.end());
  if (out_.size() != before) check_left();
}

// Whether this rank can go on.
void Shrink::check_left() {
  if (out_.contains(rank_)) {
    return end({{rondeInvalidUsage, fmt::format("the other ranks go on without rank {}: it is in the list that one of "
                                                "them gave, or was taken for dead",
                                                rank_)},
                {},
                {}});
  }
  const std::set<uint32_t> cut_off = unreachable();
  if (cut_off.empty()) return;
  end({{rondePeerUnreachable,
        fmt::format("so many ranks have gone ({}) that no control connection leads to {} any more: if they have "
                    "died too, name them in the list; else start the job again",
                    ranks_text({gone_.begin(), gone_.end()}), ranks_text({cut_off.begin(), cut_off.end()}))},
       {},
       {}});
}

void Shrink::look(Time now) {
  if (!active()) return;
  if (members().front() == rank_ && !asking_) {
    asking_ = true;
    ask(now);
  }
  check_complete();
}

// Again, too: who was asked before and has not answered may do so now, and ballots of others have come to nothing.
void Shrink::ask(Time now) {
  if (ballot_ != promised_ || ballot_ == Ballot()) {
    ballot_ = {promised_.round + 1, rank_};
    promised_ = ballot_;
    answered_.clear();
  }
  ask_again_ = now + kAskEvery;
  words_.push_back(encode(ShrinkQuestion{number_, ballot_, out_, missing()}));
}

void Shrink::check_complete() {
  meeting_is_due_ = false;
  if (!asking_ || ballot_ != promised_ || !missing().empty()) return;
  if (heard_) return commit(ShrinkDecision(*heard_));
  if (overheard_) return commit(ShrinkDecision(overheard_->decision));
  if (refused_) return commit({*refused_, {}, {}});
  meeting_is_due_ = true;
}

void Shrink::commit(ShrinkDecision decision) {
  words_.push_back(encode(ShrinkCommit{number_, ballot_, decision}));
  end(std::move(decision));
}

void Shrink::end(ShrinkDecision decision) { decisions_.emplace(number_, std::move(decision)); }

}  // namespace ronde
