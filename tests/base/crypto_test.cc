#include "base/crypto.h"

#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <string>

namespace ronde {
namespace {

std::string hex(ByteView bytes) {
  std::string text;
  for (const std::byte b : bytes) text += fmt::format("{:02x}", static_cast<unsigned>(b));
  return text;
}

ByteView bytes_of(std::string_view text) { return std::as_bytes(std::span(text)); }

}  // namespace

TEST_CASE("HMAC-SHA-256 gives the values of RFC 4231") {
  Key key{};
  for (size_t i = 0; i < 20; ++i) key[i] = std::byte{0x0b};  // HMAC pads keys with zeroes: 20 bytes are 32
  CHECK(hex(hmac_sha256(key, bytes_of("Hi There"))) ==
        "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7");
  CHECK(hmac_sha256_of_parts(key, {bytes_of("Hi"), {}, bytes_of(" There")}) == hmac_sha256(key, bytes_of("Hi There")));
}

TEST_CASE("Comparison in constant time") {
  Key a{};
  Key b{};
  CHECK(equal_in_constant_time(a, b));
  b[31] = std::byte{1};
  CHECK_FALSE(equal_in_constant_time(a, b));
  CHECK_FALSE(equal_in_constant_time(a, ByteView(a).first(31)));
  CHECK(equal_in_constant_time({}, {}));
}

TEST_CASE("Random bytes and numbers differ") {
  Nonce a{};
  Nonce b{};
  REQUIRE(random_bytes(a).ok());
  REQUIRE(random_bytes(b).ok());
  CHECK(a != b);
  CHECK(*random_number<uint64_t>() != *random_number<uint64_t>());
}

}  // namespace ronde
