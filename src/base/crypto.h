// The cryptography the library needs, from OpenSSL: HMAC-SHA-256, random bytes, comparison in constant time.
#pragma once

#include <array>
#include <cstddef>
#include <initializer_list>
#include <span>
#include <type_traits>

#include "base/status.h"
#include "base/wire.h"

namespace ronde {

using Key = std::array<std::byte, 32>;
using Mac = std::array<std::byte, 32>;
using Digest = std::array<std::byte, 32>;
using Nonce = std::array<std::byte, 32>;

// Throws std::bad_alloc where OpenSSL has no memory or no SHA-256.
[[nodiscard]] Mac hmac_sha256(ByteView key, ByteView message);
// The same over the parts one after the other, without copying them together.
[[nodiscard]] Mac hmac_sha256_of_parts(ByteView key, std::initializer_list<ByteView> parts);
// SHA-256. Throws like hmac_sha256.
[[nodiscard]] Digest sha256(ByteView message);
// Fails only if the system has no randomness.
Status random_bytes(std::span<std::byte> target);
template <typename T>
Result<T> random_number() {
  static_assert(std::is_unsigned_v<T>);
  T number = 0;
  RONDE_TRY(random_bytes(std::as_writable_bytes(std::span(&number, 1))));
  return number;
}
[[nodiscard]] bool equal_in_constant_time(ByteView a, ByteView b);

}  // namespace ronde
