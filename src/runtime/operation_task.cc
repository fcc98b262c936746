#include "runtime/operation_task.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/log.h"

namespace ronde {
namespace {

using std::chrono::duration_cast;
using std::chrono::seconds;

// How long a broken link waits for the watch to name the rank that is gone.
constexpr Milliseconds kVerdictWait{1500};
// After the loss of a rank: how long nothing may move before an operation is given up, and how long it may last at all.
constexpr Milliseconds kLastArrivals{100};
constexpr Milliseconds kLastArrivalsAtMost{1000};
constexpr seconds kWarnAgain{60};
// From here on a wait is told to the others, who may wait in another operation, or have left.
constexpr Milliseconds kLongWait{300};
constexpr Milliseconds kAskBefore{700};  // a warning or error is due: time for the others to answer
constexpr seconds kPause{1};

std::string rank_text(uint32_t waits_for) {
  return waits_for == kWaitsForAny ? "another rank" : fmt::format("rank {}", waits_for - 1);
}

}  // namespace

Progress OperationTask::done() {
  ended_well_ = true;
  if (args_.spans == nullptr) return Progress::done;
  const auto* packed = static_cast<const std::byte*>(args_.receive);
  for (const Span& span : *args_.spans) {
    const size_t bytes = span.count * element_bytes(args_.type);
    copy_bytes(span.receive, packed, bytes, false);
    packed += bytes;
  }
  return Progress::done;
}

Progress OperationTask::blocked_on(uint32_t waits_for, bool moved) {
  waits_for_ = waits_for;
  if (moved) return Progress::moved;
  if (!context_.failure->is_set()) return Progress::blocked;
  const Status failure = context_.failure->first();
  if (failure.code() == rondePeerLost && !gave_up_) {
    // The lost rank may have ended its part of this operation, and what is missing be on its way from others.
    const Time now = Clock::now();
    if (lost_since_ == Time()) lost_since_ = now;
    waits_for_ = kWaitsForAny;
    if (now - lost_since_ < kLastArrivalsAtMost) return Progress::blocked;
  } else if (!std::exchange(saw_failure_, true)) {
    return Progress::moved;  // one more look
  }
  status_ = failure;
  return Progress::done;
}

Progress OperationTask::blocked_until_verdict(const Status& last_resort) {
  const Time now = Clock::now();
  if (last_resort_.ok()) {
    last_resort_ = last_resort;
    last_resort_since_ = now;
    tell_others_of_wait(WaitReason::suspicion);
  }
  // Here, too: check_patience() is not asked while other tasks of the loop move.
  if (now - last_resort_since_ >= kVerdictWait) return fail(last_resort_.code(), last_resort_.message());
  return blocked_on(kWaitsForAny, false);
}

void OperationTask::tell_others_of_wait(WaitReason reason) {
  others_know_of_wait_ = true;
  context_.agreement->waiting(note_of_call(), reason);
}

CallNote OperationTask::note_of_call() const {
  CallNote note{sequence_, digest_, describe(args_), is_numbered(args_)};
  if (note.numbered) return note;
  list_peers(note);
  for (std::vector<uint32_t>* peers : {&note.sends_to, &note.receives_from}) {
    std::sort(peers->begin(), peers->end());
    peers->erase(std::unique(peers->begin(), peers->end()), peers->end());
    peers->resize(std::min(peers->size(), kMostAwaited));
  }
  return note;
}

Progress OperationTask::fail(rondeResult_t code, const std::string& cause) {
  const std::string comm = context_.name.empty() ? "" : fmt::format(" of communicator '{}'", context_.name);
  return end_with({code, fmt::format("rank {} of {}{}: {}: {}", context_.rank, context_.nranks, comm,
                                     describe(args_, sequence_), cause)});
}

Progress OperationTask::end_with(const Status& status) {
  if (context_.failure->set(status)) {
    log::warn("{}", status.message());
    context_.agreement->report(status);
  }
  status_ = context_.failure->first();
  return Progress::done;
}

Progress OperationTask::blocked_on_mismatch(int peer, uint32_t sequence, uint32_t digest) {
  if (!is_numbered(args_)) {
    return blocked_until_verdict(
        {rondeMismatch, fmt::format("what rank {} sends belongs to a collective: two ranks must call "
                                    "collectives and their messages in the same order",
                                    peer)});
  }
  const bool other_operation = sequence == sequence_ && digest != digest_;
  return blocked_until_verdict(
      {rondeMismatch,
       other_operation
           ? fmt::format("rank {} called something else as number {} or before: another operation, type, reduction or "
                         "count; all ranks must call the same collectives in the same order",
                         peer, sequence)
           : fmt::format("rank {} is at operation number {}, this rank at {}: the ranks did not call the same "
                         "collectives in the same order",
                         peer, sequence, sequence_)});
}

void OperationTask::check_patience(Time waiting_since, Time now) {
  // Called about every 100 ms: a longer gap means that this process was stopped or the machine paused.
  if (last_check_ < waiting_since) {
    paused_ = {};
    next_warning_ = seconds(context_.settings->late_warning_s);
    told_of_wait_ = false;
    asked_for_ = {};
    withdraw_wait();
  } else if (now - last_check_ > kPause) {
    paused_ += now - last_check_;
  }
  last_check_ = now;
  CallLog::note_wait(record_, waits_for_, progress());
  if (check_goodbyes(now)) return;
  if (!last_resort_.ok() && now - last_resort_since_ >= kVerdictWait) {
    fail(last_resort_.code(), last_resort_.message());
    return;
  }
  // Here rather than in advance(): a sleep that ends by its cap and finds the end would pass for a lost wake-up.
  if (lost_since_ != Time() && now - std::max(lost_since_, waiting_since) >= kLastArrivals) gave_up_ = true;
  const auto waited = now - waiting_since - paused_;
  const auto waited_s = duration_cast<seconds>(waited).count();
  check_wait(waited);
  if (context_.settings->late_timeout_s > 0 && waited_s >= context_.settings->late_timeout_s) {
    fail(rondeTimedOut, fmt::format("waited {} s for {} (RONDE_LATE_TIMEOUT)", waited_s, awaited()));
    return;
  }
  if (context_.settings->late_warning_s > 0 && waited >= next_warning_) {
    log::warn("rank {} of {}: {} has waited {} s for {}", context_.rank, context_.nranks, describe(args_, sequence_),
              waited_s, awaited());
    next_warning_ = waited + kWarnAgain;
  }
}

std::string OperationTask::awaited() const {
  return context_.agreement->whom(is_numbered(args_), sequence_, rank_text(waits_for_));
}

// A send or receive whose peer has left. What the peer did last may have come later than its goodbye, on another way:
// so only this rank, which looks for it, can tell that nothing came, and only after a while.
bool OperationTask::check_goodbyes(Time now) {
  if (!others_know_of_wait_ || is_numbered(args_) || context_.failure->is_set()) return false;
  const auto who = context_.agreement->left_since(now - kLongWait, note_of_call());
  if (!who) return false;
  end_with({rondePeerLost, fmt::format("{} has left: it was finalized or destroyed, but rank {} waits for it in {}",
                                       *who, context_.rank, describe(args_))});
  return true;
}

// Which peers messages wait for is no longer what was told.
void OperationTask::withdraw_wait() {
  if (is_numbered(args_) || !last_resort_.ok() || !std::exchange(others_know_of_wait_, false)) return;
  context_.agreement->resumed();
}

// Once when it gets long, and again before each warning and before the end.
void OperationTask::check_wait(Time::duration waited) {
  if (!last_resort_.ok()) return;  // told already
  if (waited < kLongWait) return;
  if (!std::exchange(told_of_wait_, true)) tell_others_of_wait(WaitReason::long_wait);
  for (const Time::duration due : {next_warning_, Time::duration(seconds(context_.settings->late_timeout_s))}) {
    if (due <= Time::duration::zero() || due <= asked_for_ || waited < due - kAskBefore) continue;
    asked_for_ = due;
    tell_others_of_wait(WaitReason::warning_due);
  }
}

}  // namespace ronde
