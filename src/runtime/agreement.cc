#include "runtime/agreement.h"

#include <fmt/format.h>

#include <utility>

#include "bootstrap/messages.h"

namespace ronde {
namespace {

constexpr Milliseconds kGoodbyeLimit{1'000};  // for neighbours that do not answer

}  // namespace

Agreement::Agreement(Control& control, FailureState& failure, CallLog log) : control_(control), log_(std::move(log)) {
  Watcher watcher;
  watcher.failed = [&failure](const Status& why) { failure.set(why); };
  watcher.lost = [&failure](uint32_t rank) { failure.lose(rank); };
  watcher.whereabouts = [this](uint32_t sequence) { return whereabouts(sequence); };
  watcher.late = [this](LateNote note) {
    if (note.sequence != log_.begun()) return;  // others ask about other calls
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

void Agreement::waiting(const OperationArgs& args, uint32_t sequence, uint32_t digest, WaitReason reason) {
  control_.waiting({sequence, digest, describe(args)}, reason);
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
