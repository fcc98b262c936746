#include "bootstrap/judge.h"

#include <fmt/format.h>

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
                      who, begun, waiter, call.text, call.sequence)};
}

void Judge::waiting(uint32_t rank, const CallNote& call, bool ask_others, Time now) {
  if (rank >= nranks_ || left_.contains(rank)) return;
  take_call(rank, call, now);
  check_left(rank, call);
  if (judged_) return;
  if (ask_others) inquire(call.sequence, now).askers.insert(rank);
  conclude_complete();
}

void Judge::answered(uint32_t rank, uint32_t asked, const Position& position, Time now) {
  if (rank >= nranks_ || left_.contains(rank)) return;
  if (position.call && position.call->sequence == asked) take_call(rank, *position.call, now);
  const auto found = inquiries_.find(asked);
  if (found == inquiries_.end() || found->second.unanswered.erase(rank) == 0) return;
  if (!reached(position.begun, asked)) found->second.behind.insert(rank);
  conclude_complete();
}

void Judge::left(uint32_t rank, uint32_t begun) {
  if (rank >= nranks_ || !left_.emplace(rank, begun).second) return;
  for (const auto& [other, call] : calls_) {
    if (other != rank) check_left(other, call);
  }
  calls_.erase(rank);
  for (auto& [sequence, inquiry] : inquiries_) inquiry.unanswered.erase(rank);
  conclude_complete();
}

void Judge::check_left(uint32_t rank, const CallNote& call) {
  for (const auto& [gone, begun] : left_) {
    if (reached(begun, call.sequence)) continue;
    const Status why = left_too_early(who_(gone), begun, fmt::format("rank {}", rank), call);
    return judge(why.code(), why.message());
  }
}

// Whether it differs from what another rank called under the same number.
void Judge::take_call(uint32_t rank, const CallNote& call, Time now) {
  calls_[rank] = call;
  for (const auto& [other, known] : calls_) {
    if (known.sequence != call.sequence || known.digest == call.digest) continue;
    inquire(call.sequence, now).disputed = true;  // what did the others call?
    break;
  }
}

Judge::Inquiry& Judge::inquire(uint32_t sequence, Time now) {
  const auto [found, is_new] = inquiries_.try_emplace(sequence);
  Inquiry& inquiry = found->second;
  if (!is_new) return inquiry;
  inquiry.until = now + kAnswerLimit;
  for (uint32_t rank = 0; rank < nranks_; ++rank) {
    const auto known = calls_.find(rank);
    if (left_.contains(rank) || (known != calls_.end() && known->second.sequence == sequence)) continue;
    inquiry.unanswered.insert(rank);
    questions_.push_back({rank, sequence});
  }
  return inquiry;
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

void Judge::conclude(uint32_t sequence, const Inquiry& inquiry) {
  if (inquiry.disputed) return judge(rondeMismatch, disagreement(sequence));
  for (const uint32_t asker : inquiry.askers) {
    notices_.push_back({asker,
                        {sequence,
                         {inquiry.behind.begin(), inquiry.behind.end()},
                         {inquiry.unanswered.begin(), inquiry.unanswered.end()}}});
  }
}

std::string Judge::disagreement(uint32_t sequence) const {
  std::map<std::string, std::vector<uint32_t>> ranks_of;  // by what they called
  for (const auto& [rank, call] : calls_) {
    if (call.sequence == sequence) ranks_of[call.text].push_back(rank);
  }
  std::map<uint32_t, std::string> parts;  // by the first rank
  for (const auto& [text, ranks] : ranks_of) parts[ranks.front()] = fmt::format("{}: {}", ranks_text(ranks), text);
  std::string all;
  for (const auto& [first, part] : parts) all += (all.empty() ? "" : "; ") + part;
  return fmt::format(
      "the ranks called different things as operation number {}: {}. All must call the same collectives, "
      "with the same type, reduction and count, in the same order",
      sequence, all);
}

void Judge::judge(rondeResult_t code, std::string text) {
  if (judged_) return;
  judged_ = true;
  verdict_ = Status(code, std::move(text));
}

Deadline Judge::next_deadline() const {
  Deadline next = Deadline::never();
  for (const auto& [sequence, inquiry] : inquiries_) next = next.earlier(Deadline::at(inquiry.until));
  return next;
}

}  // namespace ronde
