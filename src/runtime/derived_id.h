// Ids of communicators that come of another one. Their secret does not travel among the ranks of that one: each derives
// it.
#pragma once

#include <array>

#include "base/event_loop.h"
#include "base/secret.h"
#include "bootstrap/rendezvous.h"

namespace ronde {

// What travels: the id without its secret. (Control connections are proved and sealed, but can be read; those of the
// data are only proved.)
using PublicId = std::array<std::byte, RONDE_UNIQUE_ID_BYTES>;
[[nodiscard]] PublicId public_part(UniqueId id);

// The secret of the job that comes of the one with the secret `before`.
[[nodiscard]] Secret derived_secret(const Secret& before, uint64_t job);

// A meeting point for a new job, at any port, whatever the settings say: theirs is that of the job's first one.
Result<OwnedRoot> open_derived_meeting(EventLoop& loop, RendezvousOptions meeting, const Secret& before);

// The id behind a public part. rondeInternalError: it cannot be read.
Result<UniqueId> derived_id(ByteView public_part, const Secret& before);

}  // namespace ronde
