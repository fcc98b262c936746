#include "runtime/derived_id.h"

#include <algorithm>
#include <cstring>
#include <string_view>

#include "base/crypto.h"

namespace ronde {
namespace {

constexpr std::string_view kPurpose = "ronde successor";

}  // namespace

PublicId public_part(UniqueId id) {
  id.secret = {};
  const rondeUniqueId packed = id.pack();
  PublicId bytes{};
  std::memcpy(bytes.data(), packed.internal, bytes.size());
  return bytes;
}

Secret derived_secret(const Secret& before, uint64_t job) {
  return Secret::derive(before.bytes(), {std::as_bytes(std::span(kPurpose)), std::as_bytes(std::span(&job, 1))});
}

Result<OwnedRoot> open_derived_meeting(EventLoop& loop, RendezvousOptions meeting, const Secret& before) {
  meeting.port = 0;
  RONDE_ASSIGN(const uint64_t job, random_number<uint64_t>());
  return OwnedRoot::start(loop, meeting, job, derived_secret(before, job));
}

Result<UniqueId> derived_id(ByteView public_part, const Secret& before) {
  rondeUniqueId packed{};
  if (public_part.size() != sizeof packed.internal)
    return Status(rondeInternalError, "the ranks agreed on a meeting point that cannot be read");
  std::memcpy(packed.internal, public_part.data(), public_part.size());
  RONDE_ASSIGN(UniqueId id, UniqueId::unpack(packed));
  id.secret = derived_secret(before, id.job);
  return id;
}

}  // namespace ronde
