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

Inquiry::Inquiry(uint32_t own, CallNote call, uint32_t begun, std::set<uint32_t> asked, Time until)
    : own_(own), call_(std::move(call)), until_(until), unanswered_(std::move(asked)), places_{{own_, {begun, call_}}} {
  if (call_.numbered) calls_[own_] = call_;
}

void Inquiry::answered(uint32_t rank, const Answer& answer) {
  for (const auto& [gone, begun] : answer.departed) left(gone, begun);
  if (unanswered_.erase(rank) == 0) return;
  const Whereabouts& there = answer.whereabouts;
  if (call_.numbered && there.call && there.call->sequence == call_.sequence) calls_[rank] = *there.call;
  places_[rank] = {there.begun, answer.wait};
}

void Inquiry::left(uint32_t rank, uint32_t begun) {
  unanswered_.erase(rank);
  if (call_.numbered && !reached(begun, call_.sequence)) too_soon_[rank] = begun;
}

namespace {

// "ranks 0, 1 and 4: AllReduce (...); rank 3: AllReduce (...)", in the order of their first ranks. What a description
// leaves out, and what differs all the same, are the counts of single blocks and buffers.
std::string calls_text(const std::map<uint32_t, CallNote>& calls) {
  struct Part {
    const CallNote* call;
    std::vector<uint32_t> ranks;
  };
  std::vector<Part> parts;
  for (const auto& [rank, call] : calls) {
    const auto known = std::find_if(parts.begin(), parts.end(), [&call = call](const Part& part) {
      return part.call->digest == call.digest && part.call->description == call.description;
    });
    known != parts.end() ? known->ranks.push_back(rank) : parts.push_back({&call, {rank}});
  }
  std::string all;
  std::set<std::string> described;
  for (const Part& part : parts) {
    const bool is_new = described.insert(part.call->description).second;
    all += fmt::format("{}{}: {}{}", all.empty() ? "" : "; ", ranks_text(part.ranks), part.call->description,
                       is_new ? "" : ", with other counts");
  }
  return all;
}

}  // namespace

std::set<uint32_t> Inquiry::callers() const {
  std::set<uint32_t> callers;
  for (const auto& [rank, call] : calls_)
    if (rank != own_) callers.insert(rank);
  return callers;
}

bool Inquiry::disputed() const {
  return std::any_of(calls_.begin(), calls_.end(),
                     [this](const auto& entry) { return entry.second.digest != call_.digest; });
}

std::optional<Status> Inquiry::verdict(const std::function<std::string(uint32_t)>& who) const {
  if (disputed()) {
    return Status(
        rondeMismatch,
        fmt::format("the ranks called different things as operation number {}: {}. All must call the same "
                    "collectives, with the same type, reduction and count, in the same order and in equal groups",
                    call_.sequence, calls_text(calls_)));
  }
  if (!too_soon_.empty()) {
    const auto& [gone, begun] = *too_soon_.begin();
    return left_too_early(who(gone), begun, own_, call_);
  }
  return std::nullopt;
}

LateNote Inquiry::late() const {
  LateNote note;
  note.sequence = call_.sequence;
  note.numbered = call_.numbered;
  note.waits = waits();
  if (call_.numbered) {
    std::vector<uint32_t> victims;
    for (const auto& [rank, place] : places_)
      if (!reached(place.begun, call_.sequence)) (place.wait ? victims : note.behind).push_back(rank);
    note.silent.assign(unanswered_.begin(), unanswered_.end());
    // Who waits in an earlier call is a victim itself; unless nobody else is to blame.
    if (note.behind.empty() && note.silent.empty()) note.behind = std::move(victims);
    return note;
  }
  std::set<uint32_t> awaited;
  for (const RankWait& wait : note.waits) awaited.insert(wait.awaited.begin(), wait.awaited.end());
  for (const uint32_t rank : awaited) {
    const auto place = places_.find(rank);
    if (unanswered_.contains(rank)) {
      note.silent.push_back(rank);
    } else if (place != places_.end() && !place->second.wait) {
      note.behind.push_back(rank);
    }
  }
  return note;
}

// From the rank that asks to those that it waits for, to those that these wait for, and so on.
std::vector<RankWait> Inquiry::waits() const {
  std::vector<RankWait> waits;
  std::set<uint32_t> known{own_};
  std::vector<uint32_t> to_visit{own_};
  for (size_t i = 0; i < to_visit.size() && waits.size() < kMostWaits; ++i) {
    const auto place = places_.find(to_visit[i]);
    if (place == places_.end() || !place->second.wait) continue;
    const CallNote& call = *place->second.wait;
    RankWait wait{to_visit[i], {call.sequence, call.digest, call.description, call.numbered}, {}};
    wait.awaited = awaited_in(to_visit[i], call);
    for (const uint32_t rank : wait.awaited)
      if (known.insert(rank).second) to_visit.push_back(rank);
    waits.push_back(std::move(wait));
  }
  return waits;
}

// In a collective: those who have not begun it, and those of whom that is not known.
std::vector<uint32_t> Inquiry::awaited_in(uint32_t rank, const CallNote& call) const {
  std::set<uint32_t> awaited;
  if (call.numbered) {
    awaited = unanswered_;
    for (const auto& [other, place] : places_)
      if (!reached(place.begun, call.sequence)) awaited.insert(other);
  } else {
    for (const auto* peers : {&call.sends_to, &call.receives_from})
      for (const uint32_t peer : *peers)
        if (!is_met(rank, call, peer)) awaited.insert(peer);
  }
  awaited.erase(rank);
  std::vector<uint32_t> some(awaited.begin(), awaited.end());
  some.resize(std::min(some.size(), kMostAwaited));
  return some;
}

// The peer has called its part of all messages between the two: they are on their way.
bool Inquiry::is_met(uint32_t rank, const CallNote& call, uint32_t peer) const {
  const auto place = places_.find(peer);
  if (place == places_.end() || !place->second.wait || place->second.wait->numbered) return false;
  const CallNote& there = *place->second.wait;
  return (!call.sends(peer) || there.receives(rank)) && (!call.receives(peer) || there.sends(rank));
}

}  // namespace ronde
