// Shrinks in a simulated world: who has heard of a failure wants to go on with the ranks that are left, while more of
// them die at any step.
#include <fmt/format.h>

#include <algorithm>

#include "support/control_world_parts.h"

namespace ronde::testing {
namespace {

constexpr auto kAgreement = std::chrono::seconds(2);  // from the last thing that could hold it up
constexpr double kLastWord = 0.5;                     // seconds
const Status kNoPlace(rondeSystemError, "no meeting point");

Bytes bytes_of(const ShrinkDecision& decision) { return encode(ShrinkCommit{0, {}, decision}); }

}  // namespace

void ControlWorld::begin_shrink_later(uint32_t rank) {
  in(real(0.001, 2.5), [this, rank] {
    when_it_runs(rank, [this, rank] {
      Rank& state = *ranks_[rank];
      note(fmt::format("rank {} begins a shrink", rank));
      state.shrinks = true;
      shrink_news_ = now_;
      std::optional<Status> refusal = refusal_of(rank);
      if (options_.planted == PlantedFault::forgotten_refusal && rank == faulty_) refusal.reset();
      state.machine->begin_shrink({}, now_, refusal);
      serve(rank);
      if (may_give_up(rank)) give_up_later(rank);
    });
  });
}

// What it was to start could not be, or the agreement on it has failed: the others are not to go on with theirs.
std::optional<Status> ControlWorld::refusal_of(uint32_t rank) {
  Rank& state = *ranks_[rank];
  if (!state.starts) return std::nullopt;
  const bool can_start = state.decisions.back().status.ok() && !state.gave_up;
  if (can_start && !may_give_up(rank)) return std::nullopt;
  return refuse(rank, state.decisions.size());
}

Status ControlWorld::refuse(uint32_t rank, size_t number) {
  note(fmt::format("rank {} refuses", rank));
  refused_[number].insert(rank);
  return {rondeSystemError, fmt::format("rank {} could not start", rank)};
}

// Not for ever: all begin anew where one has.
bool ControlWorld::may_give_up(uint32_t rank) {
  return options_.gives_up && ranks_[rank]->decisions.size() < 4 && one_in(12);
}

void ControlWorld::give_up_later(uint32_t rank) {
  in(real(0.001, 2), [this, rank] {
    when_it_runs(rank, [this, rank] {
      Rank& state = *ranks_[rank];
      if (!state.shrinks) return;
      note(fmt::format("rank {} gives up its shrink", rank));
      state.gave_up = true;
      shrink_news_ = now_;
      state.machine->give_up_shrink({rondeTimedOut, fmt::format("rank {} gave up", rank)}, now_);
      serve(rank);
      if (!state.starts) go_on_undecided_later(rank);
    });
  });
}

// It waits a little for what the others decide; then it says at once that it does not take part in the start.
void ControlWorld::go_on_undecided_later(uint32_t rank) {
  in(kLastWord, [this, rank, number = ranks_[rank]->decisions.size()] {
    when_it_runs(rank, [this, rank, number] {
      Rank& state = *ranks_[rank];
      if (!state.shrinks || state.decisions.size() != number) return;
      note(fmt::format("rank {} does not wait for the end of its shrink", rank));
      shrink_news_ = now_;
      state.machine->begin_shrink({}, now_, refuse(rank, number + 1));
      serve(rank);
    });
  });
}

// In the middle of what it says: some hear it, some do not. Best when it says what was decided.
bool ControlWorld::dies_in_shrink(uint32_t rank, const Message& said) {
  if (deaths_in_shrinks_ == 0 || !ranks_[rank]->failure) return false;
  const bool decides = word_kind(said.bytes) == WordKind::shrink_commit;
  if (!one_in(decides ? 4 : 40)) return false;
  --deaths_in_shrinks_;
  note(fmt::format("rank {} dies in a shrink", rank));
  culprits_.insert(rank);
  die(rank);
  return true;
}

void ControlWorld::look_at_shrink(uint32_t rank) {
  Rank& state = *ranks_[rank];
  const Shrink& shrink = state.machine->shrink();
  while (const ShrinkDecision* decision = shrink.decision(static_cast<uint32_t>(state.decisions.size()) + 1)) {
    state.shrinks = shrink.begun() > state.decisions.size() + 1;
    decided(rank, ShrinkDecision(*decision));
  }
  if (!shrink.wants_meeting() || std::exchange(state.meeting_is_coming, true)) return;
  in(real(0.0001, 0.02), [this, rank] {
    when_it_runs(rank, [this, rank] {
      ranks_[rank]->meeting_is_coming = false;
      Writer meeting;
      meeting.number(rank).number(++meetings_);
      const bool has_place = ranks_[rank]->starts || !one_in(20);
      ranks_[rank]->machine->meet_at(has_place ? Result<Bytes>(meeting.take()) : Result<Bytes>(kNoPlace), now_);
      serve(rank);
    });
  });
}

void ControlWorld::decided(uint32_t rank, const ShrinkDecision& decision) {
  Rank& state = *ranks_[rank];
  ++counts_.decisions;
  note(fmt::format("rank {} goes on as one of {}{}", rank, decision.members.size(), decision.status.message()));
  const size_t number = state.decisions.size();
  for (const uint32_t refuser : refused_[number]) {
    if (decision.status.ok() && std::binary_search(decision.members.begin(), decision.members.end(), refuser))
      violated(fmt::format("rank {} goes on with rank {}, which has refused", rank, refuser));
  }
  state.decisions.push_back(decision);
  // After each agreement on who goes on comes one on whether all have started; then all are content, or begin anew.
  const bool second = std::exchange(state.starts, !state.starts);
  const bool again = second && !state.decisions[number - 1].status.ok();
  if (state.machine->shrink().begun() > state.decisions.size()) {
    note(fmt::format("rank {} has begun the next one", rank));
  } else if (!second || again) {
    begin_shrink_later(rank);
  } else if (decision.status.ok() && one_in(3)) {
    leave_now(rank);
  } else {
    destroy_later(rank);
  }
  if (state.isolated) return;
  if (now_ > std::max({shrink_news_, impaired_until_, state.last_stop_end}) + kAgreement)
    violated(fmt::format("rank {} agrees too late", rank));
  if (!decision.status.ok()) return;
  if (state.gave_up) return;
  if (!std::binary_search(decision.members.begin(), decision.members.end(), rank))
    violated(fmt::format("rank {} is to be left out, and lives", rank));
  for (const uint32_t member : decision.members) {
    if (!ranks_[member]->shrinks && ranks_[member]->decisions.empty())
      violated(fmt::format("rank {} goes on with rank {}, which did not ask for it", rank, member));
  }
}

// Ranks that live and could hear each other have decided the same. (One that was cut off while the others decided
// differs.)
void ControlWorld::check_shrinks() {
  std::map<size_t, std::pair<uint32_t, Bytes>> first;  // by number: a rank, and what it decided
  for (uint32_t rank = 0; rank < nranks_; ++rank) {
    const Rank& state = *ranks_[rank];
    if (state.dead || state.isolated) continue;
    if (state.shrinks) violated(fmt::format("rank {} never learns who goes on", rank));
    for (size_t number = 0; number < state.decisions.size(); ++number) {
      const ShrinkDecision& decision = state.decisions[number];
      if (decision.status.code() == rondePeerUnreachable) continue;
      const auto [entry, is_first] = first.try_emplace(number, rank, bytes_of(decision));
      if (!is_first && entry->second.second != bytes_of(decision))
        violated(fmt::format("ranks {} and {} go on differently", entry->second.first, rank));
    }
  }
}

}  // namespace ronde::testing
