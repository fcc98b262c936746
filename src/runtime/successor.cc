#include "runtime/successor.h"

#include <fmt/format.h>

#include <algorithm>

#include "bootstrap/messages.h"

namespace ronde {
namespace {

constexpr std::string_view kPurpose = "ronde successor";

// The secret itself does not travel: control connections are proved and sealed, but can be read.
Secret secret_of(const Secret& before, uint64_t job) {
  return hmac_sha256_of_parts(before, {std::as_bytes(std::span(kPurpose)), std::as_bytes(std::span(&job, 1))});
}

Bytes write_meeting(const UniqueId& id) {
  Writer writer;
  writer.number(id.job).number(id.port).number(static_cast<uint32_t>(id.addresses.size()));
  for (const SocketAddress& address : id.addresses) write_address(writer, address);
  return writer.take();
}

Result<UniqueId> meeting_from(ByteView bytes, const Secret& before) {
  Reader reader(bytes);
  UniqueId id;
  id.job = reader.number<uint64_t>();
  id.port = reader.number<uint16_t>();
  id.secret = secret_of(before, id.job);
  const auto count = reader.number<uint32_t>();
  for (uint32_t i = 0; i < count && reader.ok(); ++i) {
    const auto address = read_address(reader);
    if (address) id.addresses.push_back(*address);
  }
  if (!reader.complete() || id.addresses.empty())
    return Status(rondeInternalError, "the ranks that go on agreed on a meeting point that cannot be read");
  return id;
}

}  // namespace

Result<Succession> agree_on_succession(EventLoop& loop, const Predecessor& predecessor,
                                       const std::set<uint32_t>& without, const RendezvousOptions& meeting,
                                       Deadline deadline) {
  const auto make_meeting = [&]() -> Result<Bytes> {
    RendezvousOptions options = meeting;
    options.port = 0;  // that of the settings is the job's first meeting point
    uint64_t job = 0;
    RONDE_TRY(random_bytes(std::as_writable_bytes(std::span(&job, 1))));
    RONDE_ASSIGN(const UniqueId id, start_root(loop, options, job, secret_of(predecessor.secret, job)));
    return write_meeting(id);
  };
  RONDE_ASSIGN(const ShrinkDecision decision,
               predecessor.control->shrink(without, make_meeting, deadline, meeting.stop));
  RONDE_TRY(decision.status);
  Succession succession;
  succession.members = decision.members;
  const auto here = std::find(decision.members.begin(), decision.members.end(), predecessor.rank);
  if (here == decision.members.end())
    return Status(rondeInvalidUsage,
                  fmt::format("{} go on without rank {}", ranks_text(decision.members), predecessor.rank));
  succession.rank = static_cast<int>(here - decision.members.begin());
  RONDE_ASSIGN(succession.id, meeting_from(decision.meeting, predecessor.secret));
  return succession;
}

}  // namespace ronde
