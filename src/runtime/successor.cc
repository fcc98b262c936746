#include "runtime/successor.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <exception>

#include "base/crypto.h"
#include "base/log.h"
#include "bootstrap/messages.h"

namespace ronde {
namespace {

constexpr std::string_view kPurpose = "ronde successor";

// The secret itself does not travel: control connections are proved and sealed, but can be read.
Secret secret_of(const Secret& before, uint64_t job) {
  return Secret::derive(before.bytes(), {std::as_bytes(std::span(kPurpose)), std::as_bytes(std::span(&job, 1))});
}

// What travels: the id without its secret.
Bytes public_part(UniqueId id) {
  id.secret = {};
  const rondeUniqueId packed = id.pack();
  const auto bytes = std::as_bytes(std::span(packed.internal));
  return {bytes.begin(), bytes.end()};
}

Result<UniqueId> id_from(ByteView bytes, const Secret& before) {
  rondeUniqueId packed{};
  if (bytes.size() != sizeof packed.internal)
    return Status(rondeInternalError, "the ranks that go on agreed on a meeting point that cannot be read");
  std::memcpy(packed.internal, bytes.data(), bytes.size());
  RONDE_ASSIGN(UniqueId id, UniqueId::unpack(packed));
  id.secret = secret_of(before, id.job);
  return id;
}

}  // namespace

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
  const auto make_meeting = [&]() -> Result<Bytes> {
    RendezvousOptions options = meeting;
    options.port = 0;  // that of the settings is the job's first meeting point
    RONDE_ASSIGN(const uint64_t job, random_number<uint64_t>());
    RONDE_ASSIGN(const UniqueId id, start_root(loop, options, job, secret_of(predecessor.secret, job)));
    return public_part(id);
  };
  RONDE_ASSIGN(const ShrinkDecision decision,
               predecessor.control->shrink({without, make_meeting, "all ranks that are left must call it"}, deadline,
                                           meeting.stop));
  RONDE_TRY(decision.status);
  Succession succession;
  succession.members = decision.members;
  const auto here = std::find(decision.members.begin(), decision.members.end(), predecessor.rank);
  if (here == decision.members.end())
    return Status(rondeInvalidUsage,
                  fmt::format("the others go on without rank {}: {}", predecessor.rank, ranks_text(decision.members)));
  succession.rank = static_cast<int>(here - decision.members.begin());
  RONDE_ASSIGN(succession.id, id_from(decision.meeting, predecessor.secret));
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
