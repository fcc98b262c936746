#include "runtime/agreement.h"

#include <fmt/format.h>

#include <utility>

#include "control/wait_text.h"

namespace ronde {
namespace {

constexpr Milliseconds kGoodbyeLimit{1'000};  // for neighbours that do not answer

}  // namespace

Agreement::Agreement(Control& control, FailureState& failure, CallLog log, int own_rank)
    : control_(control), log_(std::move(log)), rank_(static_cast<uint32_t>(own_rank)) {
  Watcher watcher;
  watcher.failed = [&failure](const Status& why) { failure.set(why); };
  watcher.lost = [&failure](uint32_t rank) { failure.lose(rank); };
  watcher.whereabouts = [this](uint32_t sequence) { return whereabouts(sequence); };
  watcher.left = [this](uint32_t gone, const std::string& who) {
    const std::scoped_lock lock(mutex_);
    departures_.emplace(gone, Departure{who, Clock::now()});
  };
  watcher.late = [this](LateNote note) {
    // Others ask about other calls.
    if (!concerns(note, rank_, true, log_.begun()) && !concerns(note, rank_, false, log_.messages_begun())) return;
    const std::scoped_lock lock(mutex_);
    late_ = std::move(note);
  };
  control_.watch(std::move(watcher));
}

void Agreement::leave() {
  if (std::exchange(left_, true)) return;
  control_.leave(log_.begun());
  control_.settle(Deadline::after(kGoodbyeLimit));
}

Whereabouts Agreement::whereabouts(uint32_t sequence) const {
  Whereabouts here;
  here.begun = log_.begun();
  if (const auto call = log_.find(sequence)) here.call = CallNote{sequence, call->digest, describe(call->args)};
  return here;
}

std::string Agreement::whom(bool numbered, uint32_t sequence, const std::string& next) const {
  const std::scoped_lock lock(mutex_);
  if (!late_) return next;
  return awaited_text(*late_, rank_, numbered, sequence, next);
}

std::optional<std::string> Agreement::left_since(Time since, const CallNote& call) const {
  const std::scoped_lock lock(mutex_);
  for (const auto& [rank, departure] : departures_)
    if (departure.heard_at <= since && (call.sends(rank) || call.receives(rank))) return departure.who;
  return std::nullopt;
}

}  // namespace ronde
