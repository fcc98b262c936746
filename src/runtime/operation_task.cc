#include "runtime/operation_task.h"

#include <fmt/format.h>

#include <utility>

#include "base/log.h"

namespace ronde {
namespace {

using std::chrono::duration_cast;
using std::chrono::seconds;

// How long a broken link waits for the watch to name the rank that is gone.
constexpr Milliseconds kVerdictWait{1500};
constexpr seconds kWarnAgain{60};
constexpr seconds kPause{1};

std::string waited_rank(uint32_t waits_for) {
  if (waits_for == kWaitsForAny) return "another rank";
  return fmt::format("rank {}", waits_for - 1);
}

}  // namespace

Progress OperationTask::blocked_on(uint32_t waits_for, bool moved) {
  waits_for_ = waits_for;
  if (moved) return Progress::moved;
  if (!context_.failure->is_set()) return Progress::blocked;
  // One more look first: what a lost rank sent before it ended has come by now, and may be all that is missing.
  if (!std::exchange(saw_failure_, true)) return Progress::moved;
  status_ = context_.failure->first();
  return Progress::done;
}

Progress OperationTask::blocked_on_broken_link(const Status& why) {
  if (broken_link_.ok()) {
    broken_link_ = why;
    broken_since_ = Clock::now();
  }
  return blocked_on(kWaitsForAny, false);
}

Progress OperationTask::fail(rondeResult_t code, const std::string& cause) {
  const std::string comm = context_.name.empty() ? "" : fmt::format(" of communicator '{}'", context_.name);
  const Status status(code, fmt::format("rank {} of {}{}: {}: {}", context_.rank, context_.nranks, comm,
                                        describe(args_, sequence_), cause));
  if (context_.failure->set(status)) {
    log::warn("{}", status.message());
    context_.tell_others(status);
  }
  status_ = context_.failure->first();
  return Progress::done;
}

Progress OperationTask::fail_by_mismatch(int peer, uint32_t sequence, uint32_t digest) {
  const bool other_operation = sequence == sequence_ && digest != digest_;
  return fail(rondeMismatch,
              other_operation
                  ? fmt::format("rank {} called something else as number {}: another operation, type, reduction or "
                                "count; all ranks must call the same collectives in the same order",
                                peer, sequence)
                  : fmt::format("rank {} is at operation number {}, this rank at {}: the ranks did not call the same "
                                "collectives in the same order",
                                peer, sequence, sequence_));
}

void OperationTask::check_patience(Time waiting_since, Time now) {
  // Called about every 100 ms: a longer gap means that this process was stopped or the machine paused.
  if (last_check_ < waiting_since) {
    paused_ = {};
    next_warning_ = seconds(context_.settings->late_warning_s);
  } else if (now - last_check_ > kPause) {
    paused_ += now - last_check_;
  }
  last_check_ = now;
  if (!broken_link_.ok() && now - broken_since_ >= kVerdictWait) {
    fail(broken_link_.code(), broken_link_.message());
    return;
  }
  const auto waited = now - waiting_since - paused_;
  const auto waited_s = duration_cast<seconds>(waited).count();
  if (context_.settings->late_timeout_s > 0 && waited_s >= context_.settings->late_timeout_s) {
    fail(rondeTimedOut, fmt::format("waited {} s for {} (RONDE_LATE_TIMEOUT)", waited_s, waited_rank(waits_for_)));
    return;
  }
  if (context_.settings->late_warning_s > 0 && waited >= next_warning_) {
    log::warn("rank {} of {}: {} has waited {} s for {}", context_.rank, context_.nranks, describe(args_, sequence_),
              waited_s, waited_rank(waits_for_));
    next_warning_ = waited + kWarnAgain;
  }
}

}  // namespace ronde
