#include "runtime/successor.h"

#include <fmt/format.h>

#include <algorithm>
#include <exception>

#include "base/log.h"
#include "bootstrap/messages.h"
#include "runtime/derived_id.h"

namespace ronde {
void ShrinkTurn::begin(std::shared_ptr<FailureState> stop) {
  const std::scoped_lock lock(mutex_);
  stop_ = std::move(stop);
  log_.enter(black_box::Phase::shrinking);
  if (!given_up_.ok()) stop_->set(given_up_);
}

void ShrinkTurn::end() {
  const std::scoped_lock lock(mutex_);
  if (stop_ != nullptr) log_.enter(black_box::Phase::working);
  stop_.reset();
  if (const auto taken = std::exchange(taken_, nullptr)) *taken = false;
}

void ShrinkTurn::give_up(const Status& why) {
  const std::scoped_lock lock(mutex_);
  given_up_ = why;
  if (stop_ != nullptr) stop_->set(why);
}

Result<Succession> agree_on_succession(EventLoop& loop, const Predecessor& predecessor,
                                       const std::set<uint32_t>& without, const RendezvousOptions& meeting,
                                       Deadline deadline) {
  Succession succession;
  const auto make_meeting = [&]() -> Result<Bytes> {
    RONDE_ASSIGN(OwnedRoot root, open_derived_meeting(loop, meeting, predecessor.secret));
    const PublicId bytes = public_part(root.id());
    succession.opened.push_back(std::make_shared<OwnedRoot>(std::move(root)));
    return Bytes(bytes.begin(), bytes.end());
  };
  RONDE_ASSIGN(const ShrinkDecision decision,
               predecessor.control->shrink({without, make_meeting, "all ranks that are left must call it"}, deadline,
                                           meeting.stop));
  RONDE_TRY(decision.status);
  succession.members = decision.members;
  const auto here = std::find(decision.members.begin(), decision.members.end(), predecessor.rank);
  if (here == decision.members.end())
    return Status(rondeInvalidUsage,
                  fmt::format("the others go on without rank {}: {}", predecessor.rank, ranks_text(decision.members)));
  succession.rank = static_cast<int>(here - decision.members.begin());
  RONDE_ASSIGN(succession.id, derived_id(decision.meeting, predecessor.secret));
  return succession;
}

Status ended_meanwhile(uint32_t rank) {
  return {rondePeerLost, fmt::format("rank {} of the communicator before has ended while the new one started: call "
                                     "rondeCommShrink again",
                                     rank)};
}

StartAgreement::~StartAgreement() {
  try {
    if (!said_) refuse({rondeSystemError, "an exception ended it (the error of that rank says which)"});
  } catch (const std::exception& error) {
    log::warn("rank {} of the communicator before cannot tell that it has not started: {}", predecessor_.rank,
              error.what());
  }
}

Status StartAgreement::reach(const std::vector<uint32_t>& members, Deadline deadline, const OnceFlag* stop) {
  ShrinkRequest request;
  for (uint32_t rank = 0; rank < predecessor_.nranks; ++rank) request.without.insert(rank);
  for (const uint32_t member : members) request.without.erase(member);
  request.make_meeting = [] { return Bytes(); };
  request.missing_means = "the new communicator has not started there";
  said_ = true;
  RONDE_ASSIGN(const ShrinkDecision decision, predecessor_.control->shrink(request, deadline, stop));
  RONDE_TRY(decision.status);
  for (const uint32_t member : members) {
    if (!std::binary_search(decision.members.begin(), decision.members.end(), member)) return ended_meanwhile(member);
  }
  return {};
}

void StartAgreement::refuse(const Status& why) {
  Status told(rondeRemoteError,
              fmt::format("rank {} could not start the new communicator: {}", predecessor_.rank, why.message()));
  if (why.code() == rondePeerLost) told = why;  // says who
  if (why.code() == rondeAborted) told = gave_up_shrink(predecessor_.rank);
  said_ = true;
  predecessor_.control->refuse_shrink(without_, told);
}

}  // namespace ronde
