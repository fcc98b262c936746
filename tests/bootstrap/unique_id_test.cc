#include "bootstrap/unique_id.h"

#include <catch2/catch.hpp>
#include <cstring>

namespace ronde {
namespace {

UniqueId some_id() {
  UniqueId id;
  id.port = 4711;
  id.job = 0x0123456789abcdef;
  std::array<std::byte, Secret::kBytes> secret{};
  for (size_t i = 0; i < secret.size(); ++i) secret[i] = static_cast<std::byte>(i + 1);
  id.secret = Secret(secret);
  id.addresses = {*SocketAddress::parse("10.0.0.1", 0), *SocketAddress::parse("fd00::7", 0)};
  return id;
}

}  // namespace

TEST_CASE("Ids survive packing and the text form") {
  UniqueId id = some_id();
  id.retry_refused = GENERATE(false, true);
  const std::string text = id_to_text(id.pack());
  CHECK(text.size() + 1 == RONDE_UNIQUE_ID_TEXT_BYTES);
  rondeUniqueId packed{};
  REQUIRE(id_from_text("  " + text + "\n", packed).ok());
  const auto read = UniqueId::unpack(packed);
  REQUIRE(read.ok());
  CHECK(read->port == id.port);
  CHECK(read->job == id.job);
  CHECK(read->secret == id.secret);
  CHECK(read->retry_refused == id.retry_refused);
  CHECK(read->addresses == id.addresses);
}

TEST_CASE("Addresses that do not fit are left out, shorter ones behind them are not") {
  UniqueId id = some_id();
  id.addresses.clear();
  for (int i = 0; i < 5; ++i) id.addresses.push_back(*SocketAddress::parse("fd00::" + std::to_string(i + 1), 0));
  id.addresses.push_back(*SocketAddress::parse("10.0.0.9", 0));
  const auto read = UniqueId::unpack(id.pack());
  REQUIRE(read.ok());
  REQUIRE(read->addresses.size() == 5);  // 4 of 17 bytes and one of 5
  CHECK(read->addresses.back() == id.addresses.back());
}

TEST_CASE("What is no id is refused with the reason") {
  const auto message = [](const rondeUniqueId& packed) { return UniqueId::unpack(packed).status().message(); };
  CHECK_THAT(message(rondeUniqueId{}), Catch::Contains("never obtained"));
  rondeUniqueId packed = some_id().pack();
  packed.internal[0] = 9;
  CHECK_THAT(message(packed), Catch::Contains("version is 9"));
  packed = some_id().pack();
  packed.internal[44] = 0;
  CHECK_THAT(message(packed), Catch::Contains("no address"));
  packed.internal[44] = static_cast<char>(255);
  CHECK_FALSE(UniqueId::unpack(packed).ok());
  CHECK(UniqueId::unpack(packed).status().code() == rondeInvalidArgument);

  const std::string text = id_to_text(some_id().pack());
  const rondeUniqueId before = packed;
  const auto of_text = [&](const std::string& form) {
    const Status status = id_from_text(form, packed);
    CHECK(status.code() == rondeInvalidArgument);
    CHECK(std::memcmp(&packed, &before, sizeof packed) == 0);
    return status.message();
  };
  CHECK(of_text("") != "");
  CHECK_THAT(of_text("hello"), Catch::Contains("ronde1:"));
  CHECK_THAT(of_text(text + "0"), Catch::Contains("257 digits"));
  CHECK_THAT(of_text(text.substr(0, text.size() - 1)), Catch::Contains("255 digits"));
  CHECK_THAT(of_text(id_to_text(before)), Catch::Contains("unknown family"));
  std::string wrong = text;
  wrong[50] = 'g';
  CHECK_THAT(of_text(wrong), Catch::Contains("character 51"));
}

TEST_CASE("Any bytes are read without harm") {
  uint32_t state = 1;
  for (int round = 0; round < 20000; ++round) {
    rondeUniqueId packed{};
    for (char& c : packed.internal) c = static_cast<char>((state = state * 1664525 + 1013904223) >> 24);
    packed.internal[0] = 1;
    const auto id = UniqueId::unpack(packed);
    if (id.ok()) CHECK_FALSE(id->addresses.empty());
  }
}

}  // namespace ronde
