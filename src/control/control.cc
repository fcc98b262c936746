#include "control/control.h"

#include <fmt/format.h>

#include "control/hub.h"

namespace ronde {

Status gave_up_shrink(uint32_t rank) {
  return {rondeRemoteError, fmt::format("rank {} has given up rondeCommShrink", rank)};
}

Result<std::shared_ptr<ControlHub>> ControlTable::enter(EventLoop& loop, const ControlOptions& options) {
  const std::scoped_lock lock(mutex_);
  std::erase_if(hubs_, [](const auto& entry) { return entry.second.expired(); });
  if (const auto known = hubs_[options.job].lock()) {
    RONDE_ASSIGN(const bool entered, known->enter(options.rank, options.nranks));
    if (entered) return known;
  }
  RONDE_ASSIGN(std::shared_ptr<ControlHub> hub, ControlHub::make(loop, options));
  RONDE_ASSIGN([[maybe_unused]] const bool entered, hub->enter(options.rank, options.nranks));
  hubs_[options.job] = hub;
  return hub;
}

Result<std::unique_ptr<Control>> Control::enter(ControlTable& table, EventLoop& loop, const ControlOptions& options) {
  RONDE_ASSIGN(std::shared_ptr<ControlHub> hub, table.enter(loop, options));
  return std::unique_ptr<Control>(new Control(std::move(hub), options.rank));
}

Control::~Control() { hub_->go(rank_); }

Bytes Control::facts() const { return hub_->facts(); }
Status Control::connect(const std::vector<ByteView>& facts, Deadline deadline, const OnceFlag* stop) {
  return hub_->connect(rank_, facts, deadline, stop);
}
void Control::watch(Watcher watcher) { hub_->watch(rank_, std::move(watcher)); }
void Control::waiting(const CallNote& call, WaitReason reason) { hub_->waiting(rank_, call, reason); }
void Control::resumed() { hub_->resumed(rank_); }
void Control::report(const Status& why) { hub_->report(rank_, why); }
Result<ShrinkDecision> Control::shrink(const ShrinkRequest& request, Deadline deadline, const OnceFlag* stop) {
  return hub_->shrink(rank_, request, deadline, stop);
}
void Control::refuse_shrink(const std::set<uint32_t>& without, const Status& why) {
  hub_->refuse_shrink(rank_, without, why);
}
void Control::watch_losses(std::function<void(uint32_t rank)> lost) { hub_->watch_losses(rank_, std::move(lost)); }
void Control::leave(uint32_t begun) { hub_->leave(rank_, begun); }
void Control::settle(Deadline deadline) { hub_->settle(rank_, deadline); }

}  // namespace ronde
