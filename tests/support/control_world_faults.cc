// What goes wrong in a simulated world, and what is expected of its ranks then.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "control/graph.h"
#include "support/control_world_parts.h"

namespace ronde::testing {
namespace {

constexpr double kSilence = 15.0;
const Status kSilent(rondePeerUnreachable, "is silent: its host has not acknowledged anything for 10 s");

}  // namespace

// ---- Faults --------------------------------------------------------------------------------------------------------

void ControlWorld::plan_faults() {
  double when = 0.5;
  for (int i = 0; i < options_.soft_faults; ++i) {
    in(when, [this] { soft_fault(); });
    when += real(0.05, 2.5);
  }
  const int hard = options_.hard_faults ? 1 + static_cast<int>(number(3)) : 0;
  for (int i = 0; i < hard; ++i) {
    in(when, [this] { hard_fault(); });
    when += one_in(2) ? real(0, 0.01) : real(0, 3);
  }
  in(when + 40, [this] {
    uint32_t furthest = 0;
    for (const auto& rank : ranks_) furthest = std::max(furthest, rank->begun);
    last_call_ = furthest + 2;
  });
}

void ControlWorld::soft_fault() {
  ++faults_;
  uint32_t impaired = 0;
  for (uint32_t rank = 0; rank < nranks_; ++rank) impaired += runs(rank) ? 0 : 1;
  for (const auto& [key, pipe] : pipes_) impaired += key.first < key.second && now_ < pipe->hung_until ? 1 : 0;
  const uint32_t rank = number(nranks_);
  const uint32_t kind = impaired >= 3 ? 0 : number(3);
  if (kind == 0) {
    ranks_[rank]->next_compute = one_in(3) ? real(9, 16) : real(0.2, 4);
    note(fmt::format("rank {} will be late by {:.2f} s", rank, ranks_[rank]->next_compute));
  } else if (kind == 1) {
    stop(rank, one_in(4) ? real(10, 25) : real(0.05, 4));
  } else {
    const std::vector<uint32_t> peers = control_neighbours(rank, nranks_);
    hang(rank, peers[number(static_cast<uint32_t>(peers.size()))], real(0.05, 5));
  }
}

void ControlWorld::stop(uint32_t rank, Seconds span) {
  if (!runs(rank)) return;
  note(fmt::format("rank {} is stopped for {:.2f} s", rank, span));
  ranks_[rank]->stopped_until = after(span);
  impaired_until_ = std::max(impaired_until_, after(span));
  impaired_change_ = now_;
  in(span, [this, rank] {
    impaired_change_ = now_;
    ranks_[rank]->last_stop_end = now_;
    for (const auto& other : ranks_)
      if (other->begun > other->ended) complete_if_all_have_begun(other->begun);
  });
}

void ControlWorld::hang(uint32_t a, uint32_t b, Seconds span) {
  note(fmt::format("the connection of ranks {} and {} hangs for {:.2f} s", a, b, span));
  for (const auto& key : {std::pair(a, b), std::pair(b, a)}) {
    Pipe& pipe = *pipes_.at(key);
    pipe.hung_until = std::max(pipe.hung_until, after(span));
  }
  hung_until_ = std::max(hung_until_, after(span));
  impaired_until_ = std::max(impaired_until_, after(span));
  impaired_change_ = now_;
  in(span, [this] { impaired_change_ = now_; });
}

void ControlWorld::hard_fault() {
  std::vector<uint32_t> able;
  for (uint32_t rank = 0; rank < nranks_; ++rank)
    if (runs(rank) && !culprits_.contains(rank) && !ranks_[rank]->failure) able.push_back(rank);
  if (able.size() < 2) return;
  ++faults_;
  const uint32_t rank = able[number(static_cast<uint32_t>(able.size()))];
  Rank& state = *ranks_[rank];
  const auto is_culprit = [&](const std::string& how) {
    ++counts_.hard[how];
    note(fmt::format("rank {} {}", rank, how));
    if (!first_hard_) first_hard_ = now_;
    culprits_.insert(rank);
  };
  switch (number(5)) {
    case 0: return is_culprit("dies"), die(rank);
    case 1: return is_culprit("is cut off"), isolate(rank);
    case 2:  // destroys the communicator although the others go on
      is_culprit("leaves");
      state.wants_to_leave = true;
      if (state.ended == state.begun) leave_early(rank);
      return;
    case 3:
      is_culprit("aborts");
      state.culprit = true;
      state.machine->report({rondeAborted, "aborted the communicator"});
      serve(rank);
      destroy_later(rank);
      return expect_failure_by(after(kDetection), rank);
    default: {
      if (!odd_.empty()) return;
      is_culprit("will call something else");
      odd_[state.begun + 1] = rank;
    }
  }
}

// After a call, as a program can: destroying waits for the operations in progress.
void ControlWorld::leave_early(uint32_t rank) {
  Rank& state = *ranks_[rank];
  state.culprit = true;
  state.machine->leave(state.begun, now_);
  serve(rank);
  state.left = true;
  for (const auto& other : ranks_)
    if (other->begun > state.begun && !other->left && !other->dead && !other->isolated)
      return expect_failure_by(after(kDetection), rank);
}

void ControlWorld::die(uint32_t rank) {
  Rank& state = *ranks_[rank];
  state.dead = state.culprit = true;
  shrink_news_ = now_;
  for (const uint32_t peer : control_neighbours(rank, nranks_)) close_pipe(rank, peer, kEnd);
  expect_failure_by(after(kDetection), rank);
}

// Its host is out of reach: both sides see the connections silent, some time later.
void ControlWorld::isolate(uint32_t rank) {
  Rank& state = *ranks_[rank];
  state.isolated = true;
  for (const uint32_t peer : control_neighbours(rank, nranks_)) {
    for (const auto& [from, to] : {std::pair(rank, peer), std::pair(peer, rank)}) {
      Pipe& pipe = *pipes_.at({from, to});
      pipe.hung_until = Time::max();
      in(real(10, 13), [this, from = from, to = to, &pipe] {
        when_it_runs(to, [this, from, to, &pipe] {
          if (!std::exchange(pipe.open, false)) return;
          shrink_news_ = now_;
          ranks_[to]->machine->closed(from, kSilent, now_);
          serve(to);
        });
      });
    }
  }
  // Who would have found out something else may be the one that is cut off.
  if (expected_by_ && *expected_by_ > now_) expected_by_.reset();
  expect_failure_by(after(kSilence), rank);
}

void ControlWorld::expect_failure_by(Time latest, uint32_t culprit) {
  note(fmt::format("all must know of rank {} by {:.4f}", culprit,
                   std::chrono::duration<double>(latest - start_).count()));
  if (!expected_by_ || latest < *expected_by_) {
    expected_by_ = latest;
    // Few ranks have few ways around each other: what hangs or is stopped now is waited for.
    expected_slack_ = impaired_until_;
  }
}

void ControlWorld::check_end() {
  check_shrinks();
  for (uint32_t rank = 0; rank < nranks_; ++rank) {
    const Rank& state = *ranks_[rank];
    if (state.dead || state.culprit) continue;
    if (!expected_by_) {
      if (!state.left || state.failure || (last_call_ != 0 && state.ended != last_call_))
        violated(fmt::format("rank {} has ended {} calls of {}", rank, state.ended, last_call_));
      continue;
    }
    if (!state.failure) {
      // It had ended its last call, and nobody needed it any more.
      if (state.left && last_call_ != 0 && state.ended == last_call_) continue;
      violated(fmt::format("rank {} never hears of a failure (call {})", rank, state.begun));
      continue;
    }
    Time latest = *expected_by_;
    const bool was_held = state.last_stop_end > *first_hard_ || state.isolated;
    if (was_held) latest = std::max(latest, state.last_stop_end + std::chrono::seconds(2));
    if (state.isolated) latest = std::max(latest, state.failed_at);
    if (nranks_ < 8) latest = std::max(latest, expected_slack_ + std::chrono::seconds(2));
    if (state.failed_at > latest) {
      violated(fmt::format("rank {} hears of the failure at {:.4f}, {:.4f} s too late", rank,
                           std::chrono::duration<double>(state.failed_at - start_).count(),
                           std::chrono::duration<double>(state.failed_at - latest).count()));
    }
  }
}

void ControlWorld::check_warning(uint32_t rank, uint32_t sequence) {
  Rank& state = *ranks_[rank];
  if (!runs(rank) || state.failure || state.begun != sequence || state.ended >= sequence || first_hard_) return;
  if (now_ - impaired_change_ < std::chrono::seconds(2) || (nranks_ < 8 && now_ < hung_until_)) return;
  std::set<uint32_t> behind;
  std::set<uint32_t> silent;
  for (uint32_t other = 0; other < nranks_; ++other) {
    if (!runs(other)) {
      silent.insert(other);
    } else if (ranks_[other]->begun < sequence) {
      behind.insert(other);
    }
  }
  ++counts_.warnings_checked;
  if (!state.note || state.note->sequence != sequence)
    return violated(fmt::format("rank {} warns and does not know for whom it waits in number {}", rank, sequence));
  const std::set<uint32_t> told_behind(state.note->behind.begin(), state.note->behind.end());
  const std::set<uint32_t> told_silent(state.note->silent.begin(), state.note->silent.end());
  if (told_behind != behind || told_silent != silent) {
    violated(fmt::format("rank {} waits in number {} for {} behind and {} silent, but says {} and {}", rank, sequence,
                         behind, silent, told_behind, told_silent));
  }
}

}  // namespace ronde::testing
