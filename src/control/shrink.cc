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
  if (active()) {
    exclude(without);  // it does not wait for them in that one either
    refuse({rondeRemoteError, fmt::format("rank {} has begun another shrink", rank_)});
    look(now);
  }
  next_.push_back({without, refusal});
  start_next(now);
}

// After each input: what the last one was waiting for may have come.
void Shrink::start_next(Time now) {
  while (!active() && !next_.empty()) {
    const Next next = std::move(next_.front());
    next_.pop_front();
    start(next, now);
  }
}

void Shrink::start(const Next& next, Time now) {
  ++number_;
  current_ = {};
  current_.refused = next.refusal;
  current_.excluded = gone_;
  current_.excluded.insert(next.without.begin(), next.without.end());
  std::optional<Pending> question;
  if (const auto pending = pending_.find(number_); pending != pending_.end()) question = std::move(pending->second);
  pending_.erase(pending_.begin(), pending_.upper_bound(number_));
  if (!active()) return;  // the others have decided without this rank
  if (question) current_.excluded.insert(question->question.excluded.begin(), question->question.excluded.end());
  check_left();
  if (question && active()) take_question(*question, now);
  look(now);
}

void Shrink::give_up(const Status& why, Time now) {
  for (Next& next : next_)
    if (!next.refusal) next.refusal = why;
  refuse(why);
  start_next(now);
}

void Shrink::refuse(const Status& why) {
  if (!active() || current_.refused) return;
  current_.refused = why;
  if (current_.asking) {
    check_complete();
  } else if (current_.last_asked) {
    reply(*current_.last_asked);
  }
}

void Shrink::meet_at(const Result<Bytes>& meeting, Time now) {
  if (!wants_meeting()) return;  // another rank has taken over, or is to be waited for
  if (meeting.ok()) {
    commit({{}, members(), *meeting});
  } else {
    commit({meeting.status(), {}, {}});
  }
  start_next(now);
}

// ---- From others ---------------------------------------------------------------------------------------------------

void Shrink::gone(uint32_t rank, Time now) {
  if (!gone_.insert(rank).second) return;
  if (!active()) return;
  exclude({rank});
  look(now);
  start_next(now);
}

void Shrink::asked(uint32_t origin, uint32_t word, const ShrinkQuestion& question, Time now) {
  take_question({origin, word, question}, now);
  start_next(now);
}

void Shrink::take_question(const Pending& pending, Time now) {
  const ShrinkQuestion& question = pending.question;
  const auto outcome = outcomes_.find(question.number);
  if (outcome != outcomes_.end()) {
    // Who is excluded knows nothing of the others.
    const bool is_excluded = question.number == number_ && current_.excluded.contains(rank_);
    outcome->second.promised = std::max(outcome->second.promised, question.ballot);
    if (!is_excluded) reply(pending);
    return;
  }
  if (question.number > number_) {
    const auto known = pending_.find(question.number);
    if (known == pending_.end()) {
      if (pending_.size() < kMostPending) pending_[question.number] = pending;
      return;
    }
    std::set<uint32_t> excluded = known->second.question.excluded;
    if (question.ballot >= known->second.question.ballot) known->second = pending;
    excluded.insert(question.excluded.begin(), question.excluded.end());
    known->second.question.excluded = std::move(excluded);
    return;
  }
  exclude(question.excluded);
  if (!active()) return;
  if (question.ballot == Ballot()) return look(now);  // no question, but the last word of one that is excluded
  if (question.ballot > current_.promised) {
    current_.promised = question.ballot;
    current_.meeting_is_due = false;
  }
  current_.last_asked = pending;
  current_.told_missing = question.missing;
  std::erase(current_.told_missing, rank_);
  reply(pending);
  look(now);
}

void Shrink::reply(const Pending& pending) {
  ShrinkAnswer answer{pending.question.number, current_.promised, current_.excluded, std::nullopt, current_.refused};
  const auto outcome = outcomes_.find(answer.number);
  if (outcome != outcomes_.end()) {
    const Outcome& known = outcome->second;
    answer = {pending.question.number, known.promised, {}, std::nullopt, std::nullopt};
    if (known.agreed) {
      answer.decision = known.decision;
    } else {
      answer.refusal = known.decision.status;
    }
  }
  replies_.push_back({pending.origin, pending.word, std::move(answer)});
}

void Shrink::answered(uint32_t who, const ShrinkAnswer& answer, Time now) {
  if (answer.number != number_ || !active() || !current_.asking || current_.excluded.contains(who)) return;
  exclude(answer.excluded);
  if (active()) {
    current_.promised = std::max(current_.promised, answer.promised);
    if (answer.decision) current_.heard = answer.decision;
    if (answer.refusal) current_.refused = answer.refusal;
    if (answer.decision || answer.promised == current_.ballot) current_.answered.insert(who);
    look(now);
  }
  start_next(now);
}

void Shrink::committed(const ShrinkCommit& commit, Time now) {
  take_commit(commit);
  start_next(now);
}

void Shrink::take_commit(const ShrinkCommit& commit) {
  if (outcomes_.contains(commit.number)) return;
  if (commit.number == number_ && commit.ballot < current_.promised) {
    if (!current_.overheard || current_.overheard->ballot < commit.ballot) current_.overheard = commit;
    return;
  }
  if (commit.number == number_) return end(commit.decision);
  // One that this rank has not begun can only have been decided without it.
  if (outcomes_.size() < size_t{number_} + kMostPending)
    outcomes_[commit.number] = {commit.decision, true, commit.ballot};
}

void Shrink::advance(Time now) {
  if (active() && current_.asking && now >= current_.ask_again) ask(now);
  start_next(now);
}

Deadline Shrink::next_deadline() const {
  return active() && current_.asking ? Deadline::at(current_.ask_again) : Deadline::never();
}

// ---- What follows --------------------------------------------------------------------------------------------------

const ShrinkDecision* Shrink::decision(uint32_t number) const {
  const auto outcome = outcomes_.find(number);
  return number > number_ || outcome == outcomes_.end() ? nullptr : &outcome->second.decision;
}

std::vector<uint32_t> Shrink::missing() const {
  const std::vector<uint32_t> left = members();
  if (!current_.asking)
    return current_.told_missing.empty() ? std::vector<uint32_t>{left.front()} : current_.told_missing;
  std::vector<uint32_t> missing;
  for (const uint32_t member : left)
    if (member != rank_ && !current_.answered.contains(member)) missing.push_back(member);
  return missing;
}

std::vector<uint32_t> Shrink::members() const {
  std::vector<uint32_t> members;
  for (uint32_t rank = 0; rank < nranks_; ++rank)
    if (!current_.excluded.contains(rank)) members.push_back(rank);
  return members;
}

// Ranks that are not excluded, but to which no way is left. Who is excluded and has not gone still passes words on.
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
    if (!current_.excluded.contains(rank) && !reached.contains(rank)) cut_off.insert(rank);
  return cut_off;
}

void Shrink::exclude(const std::set<uint32_t>& ranks) {
  if (!active()) return;
  const size_t before = current_.excluded.size();
  current_.excluded.insert(ranks.begin(), ranks.end());
  if (current_.excluded.size() != before) check_left();
}

// Whether this rank can go on.
void Shrink::check_left() {
  if (current_.excluded.contains(rank_)) {
    return end_alone(
        {rondeInvalidUsage, fmt::format("the other ranks go on without rank {}: it is in the list that one of "
                                        "them gave, or was taken for dead",
                                        rank_)});
  }
  const std::set<uint32_t> cut_off = unreachable();
  if (cut_off.empty()) return;
  end_alone({rondePeerUnreachable,
             fmt::format("so many ranks have gone ({}) that no control connection leads to {} any more: if they have "
                         "died too, name them in the list; else start the job again",
                         ranks_text({gone_.begin(), gone_.end()}), ranks_text({cut_off.begin(), cut_off.end()}))});
}

void Shrink::look(Time now) {
  if (!active()) return;
  if (members().front() == rank_ && !current_.asking) {
    current_.asking = true;
    ask(now);
  }
  check_complete();
}

// Again, too: who was asked before and has not answered may do so now, and ballots of others have come to nothing.
void Shrink::ask(Time now) {
  if (current_.ballot != current_.promised || current_.ballot == Ballot()) {
    current_.ballot = {current_.promised.round + 1, rank_};
    current_.promised = current_.ballot;
    current_.answered.clear();
  }
  current_.ask_again = now + kAskEvery;
  words_.push_back(encode(ShrinkQuestion{number_, current_.ballot, current_.excluded, missing()}));
}

void Shrink::check_complete() {
  current_.meeting_is_due = false;
  if (!current_.asking || current_.ballot != current_.promised || !missing().empty()) return;
  if (current_.heard) return commit(ShrinkDecision(*current_.heard));
  if (current_.overheard) return commit(ShrinkDecision(current_.overheard->decision));
  if (current_.refused) return commit({*current_.refused, {}, {}});
  current_.meeting_is_due = true;
}

void Shrink::commit(ShrinkDecision decision) {
  words_.push_back(encode(ShrinkCommit{number_, current_.ballot, decision}));
  end(std::move(decision));
}

void Shrink::end(ShrinkDecision decision) {
  outcomes_.emplace(number_, Outcome{std::move(decision), true, current_.promised});
}

void Shrink::end_alone(const Status& why) {
  words_.push_back(encode(ShrinkQuestion{number_, {}, {rank_}, {}}));  // who does not know so would wait for it
  outcomes_.emplace(number_, Outcome{{why, {}, {}}, false, current_.promised});
}

}  // namespace ronde
