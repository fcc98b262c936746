#include "runtime/successor.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "bootstrap/messages.h"

namespace ronde {
namespace {

constexpr std::string_view kPurpose = "ronde successor";

// The secret itself does not travel: control connections are proved and sealed, but can be read.
Secret secret_of(const Secret& before, uint64_t job) {
  return hmac_sha256_of_parts(before, {std::as_bytes(std::span(kPurpose)), std::as_bytes(std::span(&job, 1))});
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

void ShrinkTurn::end() {
  if (const auto taken = std::exchange(taken_, nullptr)) *taken = false;
}

Result<Succession> agree_on_succession(EventLoop& loop, const Predecessor& predecessor,
                                       const std::set<uint32_t>& without, const RendezvousOptions& meeting,
                                       Deadline deadline) {
  const auto make_meeting = [&]() -> Result<Bytes> {
    RendezvousOptions options = meeting;
    options.port = 0;  // that of the settings is the job's first meeting point
    uint64_t job = 0;
    RONDE_TRY(random_bytes(std::as_writable_bytes(std::span(&job, 1))));
    RONDE_ASSIGN(const UniqueId id, start_root(loop, options, job, secret_of(predecessor.secret, job)));
    return public_part(id);
  };
  RONDE_ASSIGN(const ShrinkDecision decision,
               predecessor.control->shrink(without, make_meeting, deadline, meeting.stop));
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

Status agree_on_start(const Predecessor& predecessor, const std::set<uint32_t>& without,
                      const Result<Succession>& agreed, const Status& started, Deadline deadline,
                      const OnceFlag* stop) {
  if (!started.ok()) {
    const bool aborted = started.code() == rondeAborted;  // by its user: no cause of the others
    predecessor.control->refuse_shrink(
        without, aborted
                     ? Status(rondeRemoteError, fmt::format("rank {} has given up rondeCommShrink", predecessor.rank))
                     : started);
    return started;
  }
  std::set<uint32_t> others;
  for (uint32_t rank = 0; rank < predecessor.nranks; ++rank) others.insert(rank);
  for (const uint32_t member : agreed->members) others.erase(member);
  const auto no_place = []() -> Result<Bytes> { return Bytes(); };
  RONDE_ASSIGN(const ShrinkDecision decision, predecessor.control->shrink(others, no_place, deadline, stop));
  RONDE_TRY(decision.status);
  for (const uint32_t member : agreed->members) {
    if (!std::binary_search(decision.members.begin(), decision.members.end(), member)) return ended_meanwhile(member);
  }
  return {};
}

}  // namespace ronde
