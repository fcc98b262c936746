#include "runtime/agreement.h"

#include <fmt/format.h>

#include <utility>

#include "bootstrap/messages.h"

namespace ronde {
namespace {

constexpr Milliseconds kGoodbyeLimit{1'000};  // for a meeting point that does not answer

}  // namespace

Agreement::Agreement(Rendezvous& rendezvous, FailureState& failure, CallLog log)
    : rendezvous_(rendezvous), log_(std::move(log)) {
  Watcher watcher;
  watcher.failed = [&failure](const Status& why) { failure.set(why); };
  watcher.lost = [&failure](uint32_t rank) { failure.lose(rank); };
  watcher.whereabouts = [this](uint32_t sequence) { return whereabouts(sequence); };
  watcher.late = [this](LateNote note) {
    const std::scoped_lock lock(mutex_);
    late_ = std::move(note);
  };
  rendezvous_.watch(std::move(watcher));
}

void Agreement::leave() {
  if (std::exchange(left_, true)) return;
  rendezvous_.leave(log_.begun());
  rendezvous_.settle(Deadline::after(kGoodbyeLimit));
}

void Agreement::waiting(const OperationArgs& args, uint32_t sequence, uint32_t digest, bool ask_others) {
  rendezvous_.waiting({sequence, digest, describe(args)}, ask_others);
}

Whereabouts Agreement::whereabouts(uint32_t sequence) const {
  Whereabouts here;
  here.begun = log_.begun();
  if (const auto call = log_.find(sequence)) here.call = CallNote{sequence, call->digest, describe(call->args)};
  return here;
}

std::string Agreement::whom(uint32_t sequence, const std::string& next) const {
  const std::scoped_lock lock(mutex_);
  if (!late_ || late_->sequence != sequence) return next;
  std::string text;
  if (!late_->behind.empty())
    text = fmt::format("{}, which {} not called it", ranks_text(late_->behind),
                       late_->behind.size() == 1 ? "has" : "have");
  if (!late_->silent.empty())
    text += fmt::format("{}{}, which {} not answer (stopped, or out of reach)", text.empty() ? "" : ", and for ",
                        ranks_text(late_->silent), late_->silent.size() == 1 ? "does" : "do");
  return text.empty() ? next + " (all ranks have called it)" : text;
}

}  // namespace ronde
