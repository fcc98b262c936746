#include "bootstrap/unique_id.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "base/log.h"

namespace ronde {
namespace {

constexpr uint8_t kVersion = 1;
constexpr uint8_t kRetryRefused = 1;
constexpr std::string_view kTextPrefix = "ronde1:";
constexpr size_t kSecretOffset = 1 + 1 + 2 + 8;
constexpr size_t kCountOffset = kSecretOffset + Secret::kBytes;

int hex_value(char digit) {
  if (digit >= '0' && digit <= '9') return digit - '0';
  if (digit >= 'a' && digit <= 'f') return digit - 'a' + 10;
  if (digit >= 'A' && digit <= 'F') return digit - 'A' + 10;
  return -1;
}

bool is_space(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && is_space(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_space(text.back())) text.remove_suffix(1);
  return text;
}

Status no_id(std::string why) { return {rondeInvalidArgument, "not an id: " + std::move(why)}; }

}  // namespace

rondeUniqueId UniqueId::pack() const {
  rondeUniqueId packed;
  pack_into(packed);
  return packed;
}

void UniqueId::pack_into(rondeUniqueId& packed) const {
  Writer writer;
  writer.number(kVersion).number(static_cast<uint8_t>(retry_refused ? kRetryRefused : 0));
  writer.number(port).number(job).fixed(std::array<std::byte, Secret::kBytes>{});
  Writer tail;
  uint8_t count = 0;
  for (const SocketAddress& address : addresses) {
    const ByteView bytes = address.address_bytes();
    if (kCountOffset + 1 + tail.view().size() + 1 + bytes.size() > RONDE_UNIQUE_ID_BYTES) {
      log::info("an id has no room for the address {}; it is left out", address.text());
      continue;
    }
    tail.number(static_cast<uint8_t>(address.family() == AF_INET ? 4 : 6)).raw(bytes.data(), bytes.size());
    ++count;
  }
  writer.number(count).raw(tail.view().data(), tail.view().size());
  packed = {};
  std::memcpy(packed.internal, writer.view().data(), writer.view().size());
  // Not through the writer's memory.
  std::memcpy(packed.internal + kSecretOffset, secret.bytes().data(), Secret::kBytes);
}

Result<UniqueId> UniqueId::unpack(const rondeUniqueId& packed) {
  const ByteView bytes = std::as_bytes(std::span(packed.internal));
  if (std::all_of(bytes.begin(), bytes.end(), [](std::byte b) { return b == std::byte{0}; }))
    return no_id("it holds zeroes only (was it never obtained, or not handed to this rank?)");
  Reader reader(bytes);
  if (const auto version = reader.number<uint8_t>(); version != kVersion)
    return no_id(fmt::format("its version is {}, this library knows {}", version, kVersion));
  UniqueId id;
  id.retry_refused = (reader.number<uint8_t>() & kRetryRefused) != 0;
  id.port = reader.number<uint16_t>();
  id.job = reader.number<uint64_t>();
  id.secret = Secret(bytes.subspan<kSecretOffset, Secret::kBytes>());
  reader.skip(Secret::kBytes);
  const auto count = reader.number<uint8_t>();
  for (uint8_t i = 0; i < count; ++i) {
    const auto family = reader.number<uint8_t>();
    if (family == 4) {
      id.addresses.push_back(SocketAddress::ipv4(reader.fixed<4>(), 0));
    } else if (family == 6) {
      id.addresses.push_back(SocketAddress::ipv6(reader.fixed<16>(), 0));
    } else {
      return no_id(fmt::format("it holds an address of the unknown family {}", family));
    }
  }
  if (!reader.ok()) return no_id("its addresses do not fit into it");
  if (id.addresses.empty()) return no_id("it holds no address");
  if (id.port == 0) return no_id("it holds no port");
  return id;
}

std::string id_to_text(const rondeUniqueId& id) {
  static constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text;
  text.reserve(RONDE_UNIQUE_ID_TEXT_BYTES);  // it leaves no piece of itself behind
  text = kTextPrefix;
  for (const char c : id.internal) {
    const auto byte = static_cast<unsigned char>(c);
    text += kDigits[byte >> 4];
    text += kDigits[byte & 15];
  }
  return text;
}

Status id_from_text(std::string_view text, rondeUniqueId& id) {
  text = trimmed(text);
  if (!text.starts_with(kTextPrefix)) return no_id(fmt::format("its text does not begin with '{}'", kTextPrefix));
  text.remove_prefix(kTextPrefix.size());
  if (text.size() != size_t{2} * RONDE_UNIQUE_ID_BYTES)
    return no_id(fmt::format("its text has {} digits instead of {}", text.size(), 2 * RONDE_UNIQUE_ID_BYTES));
  rondeUniqueId packed{};
  const Wipe wipe(packed.internal);
  for (size_t i = 0; i < text.size(); ++i) {
    const int value = hex_value(text[i]);
    if (value < 0)
      return no_id(fmt::format("character {} of its text is no hexadecimal digit", kTextPrefix.size() + i + 1));
    auto& byte = reinterpret_cast<unsigned char&>(packed.internal[i / 2]);
    byte = static_cast<unsigned char>(byte << 4 | value);
  }
  RONDE_TRY(UniqueId::unpack(packed));
  id = packed;
  return {};
}

}  // namespace ronde
