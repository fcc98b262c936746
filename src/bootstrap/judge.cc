#include "bootstrap/judge.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/shared_word.h"
#include "bootstrap/messages.h"

namespace ronde {
namespace {

// A rank that lives answers within this time, unless it is stopped.
constexpr Milliseconds kAnswerLimit{400};

}  // namespace

Status left_too_early(const std::string& who, uint32_t begun, const std::string& waiter, const CallNote& call) {
  return {rondePeerLost,
          fmt::format("{} has left: it was finalized or destroyed after operation number {}, but {} waits for it in {} "
                      "number {}",
                      who, begun, waiter, call.description, call.sequence)};
}

void Judge::waiting(uint32_t rank, const CallNote& call, bool ask_others, Time now) {
  if (judged_ || rank >= nranks_ || left_.contains(rank)) return;
  const bool disputed = disagrees(rank, call);
  waits_[rank] = call;
  check_left(rank, call);
  if (ask_others || disputed) {
    withdraw_question(rank);
    inquire(rank, call.sequence, now).askers.insert(rank);
  }
  conclude_complete();
}

// From another one's wait in the same number.
bool Judge::disagrees(uint32_t rank, const CallNote& call) const {
  return std::any_of(waits_.begin(), waits_.end(), [&](const auto& wait) {
    return wait.first != rank && wait.second.sequence == call.sequence && wait.second.digest != call.digest;
  });
}

// A rank asks one thing at a time, so that there are never more inquiries than ranks.
void Judge::withdraw_question(uint32_t rank) {
  for (auto& [sequence, inquiry] : inquiries_) inquiry.askers.erase(rank);
  std::erase_if(inquiries_, [](const auto& entry) { return entry.second.askers.empty() && !entry.second.disputed; });
}

Judge::Inquiry& Judge::inquire(uint32_t rank, uint32_t sequence, Time now) {
  const auto [found, is_new] = inquiries_.try_emplace(sequence);
  Inquiry& inquiry = found->second;
  if (is_new) {
    inquiry.until = now + kAnswerLimit;
    for (uint32_t other = 0; other < nranks_; ++other) {
      if (other == rank || left_.contains(other)) continue;
      inquiry.unanswered.insert(other);
      questions_.push_back({other, sequence});
    }
  }
  for (const auto& [other, call] : waits_) {
    if (call.sequence == sequence) enter(inquiry, other, call);
  }
  return inquiry;
}

void Judge::enter(Inquiry& inquiry, uint32_t rank, const CallNote& call) {
  inquiry.calls[rank] = call;
  for (const auto& [other, known] : inquiry.calls) inquiry.disputed |= known.digest != call.digest;
}

void Judge::answered(uint32_t rank, uint32_t asked, const Whereabouts& whereabouts) {
  const auto found = inquiries_.find(asked);
  if (found == inquiries_.end() || found->second.unanswered.erase(rank) == 0) return;
  Inquiry& inquiry = found->second;
  if (whereabouts.call && whereabouts.call->sequence == asked) enter(inquiry, rank, *whereabouts.call);
  if (!reached(whereabouts.begun, asked)) inquiry.behind.insert(rank);
  conclude_complete();
}

void Judge::left(uint32_t rank, uint32_t begun) {
  if (judged_ || rank >= nranks_ || !left_.emplace(rank, begun).second) return;
  waits_.erase(rank);
  for (const auto& [other, call] : waits_) check_left(other, call);
  for (auto& [sequence, inquiry] : inquiries_) inquiry.unanswered.erase(rank);
  conclude_complete();
}

void Judge::check_left(uint32_t rank, const CallNote& call) {
  for (const auto& [gone, begun] : left_) {
    if (!reached(begun, call.sequence)) judge(left_too_early(who_(gone), begun, fmt::format("rank {}", rank), call));
  }
}

void Judge::conclude_complete() {
  std::erase_if(inquiries_, [this](const auto& entry) {
    if (!entry.second.unanswered.empty()) return false;
    conclude(entry.first, entry.second);
    return true;
  });
}

void Judge::advance(Time now) {
  std::erase_if(inquiries_, [&](const auto& entry) {
    if (now < entry.second.until) return false;
    conclude(entry.first, entry.second);
    return true;
  });
}

namespace {

// "ranks 0, 1 and 4: AllReduce (...); rank 3: AllReduce (...)", in the order of their first ranks.
std::string calls_text(const std::map<uint32_t, CallNote>& calls) {
  std::map<std::string, std::vector<uint32_t>> ranks_of;
  for (const auto& [rank, call] : calls) ranks_of[call.description].push_back(rank);
  std::map<uint32_t, std::string> parts;
  for (const auto& [text, ranks] : ranks_of) parts[ranks.front()] = fmt::format("{}: {}", ranks_text(ranks), text);
  std::string all;
  for (const auto& [first, part] : parts) all += (all.empty() ? "" : "; ") + part;
  return all;
}

}  // namespace

void Judge::conclude(uint32_t sequence, const Inquiry& inquiry) {
  if (inquiry.disputed) {
    return judge({rondeMismatch,
                  fmt::format("the ranks called different things as operation number {}: {}. All must call the same "
                              "collectives, with the same type, reduction and count, in the same order",
                              sequence, calls_text(inquiry.calls))});
  }
  // Who waits in an earlier operation is a victim itself; unless nobody else is to blame.
  std::vector<uint32_t> behind;
  for (const uint32_t rank : inquiry.behind) {
    if (!waits_.contains(rank)) behind.push_back(rank);
  }
  const std::vector<uint32_t> silent(inquiry.unanswered.begin(), inquiry.unanswered.end());
  if (behind.empty() && silent.empty()) behind.assign(inquiry.behind.begin(), inquiry.behind.end());
  for (const uint32_t asker : inquiry.askers) notices_.push_back({asker, {sequence, behind, silent}});
}

void Judge::judge(const Status& verdict) {
  if (!std::exchange(judged_, true)) verdict_ = verdict;
}

Deadline Judge::next_deadline() const {
  Deadline next = Deadline::never();
  for (const auto& [sequence, inquiry] : inquiries_) next = next.earlier(Deadline::at(inquiry.until));
  return next;
}

}  // namespace ronde
