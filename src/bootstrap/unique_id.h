// The unique id: what ranks must share to find and to trust each other, packed into 128 bytes.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/secret.h"
#include "base/socket.h"
#include "base/status.h"

namespace ronde {

struct UniqueId {
  uint16_t port = 0;
  uint64_t job = 0;  // a random number; names the communicator in proofs and in the process table
  Secret secret;
  bool retry_refused = false;            // from the environment: a refused connection is tried again until the limit
  std::vector<SocketAddress> addresses;  // of the root, best first; ports 0

  // Layout (little-endian): version u8, flags u8 (bit 0 retry_refused), port u16, job u64, secret 32, number of
  // addresses u8, then per address family u8 (4 or 6) and 4 or 16 bytes; zeroes to the end. Addresses that do not fit
  // are left out and logged. The secret is in the result: for who keeps it, or wipes it.
  [[nodiscard]] rondeUniqueId pack() const;
  void pack_into(rondeUniqueId& packed) const;
  // rondeInvalidArgument with the cause: another version, no address, zeroes only ("was it never obtained?").
  static Result<UniqueId> unpack(const rondeUniqueId& packed);
};

// "ronde1:" and hexadecimal digits.
[[nodiscard]] std::string id_to_text(const rondeUniqueId& id);
// rondeInvalidArgument with the cause, also where unpack() has one; `id` is written on success only.
Status id_from_text(std::string_view text, rondeUniqueId& id);

}  // namespace ronde
