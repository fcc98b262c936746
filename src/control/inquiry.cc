#include "control/inquiry.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/shared_word.h"
#include "bootstrap/messages.h"

namespace ronde {

Status left_too_early(const std::string& who, uint32_t begun, uint32_t waiter, const CallNote& call) {
  return {
      rondePeerLost,
      fmt::format("{} has left: it was finalized or destroyed after operation number {}, but rank {} waits for it in "
                  "{} number {}",
                  who, begun, waiter, call.description, call.sequence)};
}

Inquiry::Inquiry(uint32_t own, CallNote call, std::set<uint32_t> asked, Time until)
    : own_(own), call_(std::move(call)), until_(until), unanswered_(std::move(asked)), calls_{{own_, call_}} {}

void Inquiry::answered(uint32_t rank, const Answer& answer) {
  for (const auto& [gone, begun] : answer.departed) left(gone, begun);
  if (unanswered_.erase(rank) == 0) return;
  const Whereabouts& there = answer.whereabouts;
  if (there.call && there.call->sequence == call_.sequence) calls_[rank] = *there.call;
  if (!reached(there.begun, call_.sequence)) (answer.waits ? victims_ : behind_).insert(rank);
}

void Inquiry::left(uint32_t rank, uint32_t begun) {
  unanswered_.erase(rank);
  if (!reached(begun, call_.sequence)) too_soon_[rank] = begun;
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

std::optional<Status> Inquiry::verdict(const std::function<std::string(uint32_t)>& who) const {
  const bool disputed = std::any_of(calls_.begin(), calls_.end(),
                                    [this](const auto& entry) { return entry.second.digest != call_.digest; });
  if (disputed) {
    return Status(rondeMismatch,
                  fmt::format("the ranks called different things as operation number {}: {}. All must call the same "
                              "collectives, with the same type, reduction and count, in the same order",
                              call_.sequence, calls_text(calls_)));
  }
  if (!too_soon_.empty()) {
    const auto& [gone, begun] = *too_soon_.begin();
    return left_too_early(who(gone), begun, own_, call_);
  }
  return std::nullopt;
}

LateNote Inquiry::late() const {
  LateNote note{call_.sequence, {behind_.begin(), behind_.end()}, {unanswered_.begin(), unanswered_.end()}};
  // Who waits in an earlier call is a victim itself; unless nobody else is to blame.
  if (note.behind.empty() && note.silent.empty()) note.behind.assign(victims_.begin(), victims_.end());
  return note;
}

}  // namespace ronde
