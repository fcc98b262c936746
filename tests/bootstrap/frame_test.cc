#include "bootstrap/frame.h"

#include <catch2/catch.hpp>
#include <string>

namespace ronde {
namespace {

Key key_of(int seed) {
  Key key{};
  key[7] = static_cast<std::byte>(seed);
  return key;
}

SharedMessage text(std::string_view value) {
  const ByteView bytes = std::as_bytes(std::span(value));
  return std::make_shared<const Message>(Bytes(bytes.begin(), bytes.end()));
}

Bytes wire(const Frame& frame) {
  Writer writer;
  writer.fixed(frame.head).raw(frame.message->bytes.data(), frame.message->bytes.size()).fixed(frame.mac);
  return writer.take();
}

constexpr size_t kMost = 1000;

FrameOpener opener(int key = 1, Direction direction = Direction::to_server) {
  return FrameOpener(key_of(key), direction, kMost);
}

}  // namespace

TEST_CASE("Messages arrive, however the bytes are cut") {
  FrameSealer sealer(key_of(1), Direction::to_server);
  Bytes all;
  for (const char* message : {"first", "", "third"}) {
    const Bytes one = wire(sealer.seal(text(message)));
    all.insert(all.end(), one.begin(), one.end());
  }
  for (size_t step = 1; step <= all.size(); ++step) {
    FrameOpener reader = opener();
    std::vector<Bytes> messages;
    for (size_t at = 0; at < all.size(); at += step)
      REQUIRE(reader.feed(ByteView(all).subspan(at, std::min(step, all.size() - at)), messages));
    REQUIRE(messages.size() == 3);
    CHECK(messages[0] == text("first")->bytes);
    CHECK(messages[1].empty());
    CHECK(messages[2] == text("third")->bytes);
  }
}

TEST_CASE("Each flipped bit is found") {
  FrameSealer sealer(key_of(1), Direction::to_server);
  const Bytes right = wire(sealer.seal(text("content")));
  // Beyond the frame there is more, so that a longer length finds bytes.
  for (size_t bit = 0; bit < right.size() * 8; ++bit) {
    Bytes wrong = right;
    wrong[bit / 8] ^= static_cast<std::byte>(1 << (bit % 8));
    wrong.resize(wrong.size() + kMost + 100);
    FrameOpener reader = opener();
    std::vector<Bytes> messages;
    CHECK_FALSE(reader.feed(wrong, messages));
    CHECK(messages.empty());
    CHECK(std::string(reader.problem()) != "");
  }
}

TEST_CASE("Replayed, left out, reflected and foreign messages are found") {
  FrameSealer sealer(key_of(1), Direction::to_server);
  const Bytes first = wire(sealer.seal(text("one")));
  const Bytes second = wire(sealer.seal(text("two")));
  std::vector<Bytes> messages;
  {
    FrameOpener reader = opener();
    CHECK(reader.feed(first, messages));
    CHECK_FALSE(reader.feed(first, messages));
    CHECK(messages.size() == 1);
    CHECK_FALSE(reader.feed(second, messages));  // once refused, for ever
  }
  messages.clear();
  FrameOpener left_out = opener();
  CHECK_FALSE(left_out.feed(second, messages));
  FrameOpener reflected = opener(1, Direction::to_client);
  CHECK_FALSE(reflected.feed(first, messages));
  FrameOpener other_key = opener(2);
  CHECK_FALSE(other_key.feed(first, messages));
  CHECK(messages.empty());
}

TEST_CASE("A truncated message is just not there yet") {
  FrameSealer sealer(key_of(1), Direction::to_server);
  const Bytes all = wire(sealer.seal(text("content")));
  FrameOpener reader = opener();
  std::vector<Bytes> messages;
  CHECK(reader.feed(ByteView(all).first(all.size() - 1), messages));
  CHECK(messages.empty());
  CHECK(reader.feed(ByteView(all).last(1), messages));
  CHECK(messages.size() == 1);
}

TEST_CASE("case_24_announced_length: a length beyond the limit is refused at once") {
  FrameOpener reader = opener();
  std::vector<Bytes> messages;
  const Bytes announced(4, std::byte{0xff});
  CHECK_FALSE(reader.feed(announced, messages));
  CHECK_THAT(reader.problem(), Catch::Contains("longer"));

  FrameSealer sealer(key_of(1), Direction::to_server);
  FrameOpener at_limit = opener();
  CHECK(at_limit.feed(wire(sealer.seal(std::make_shared<const Message>(Bytes(kMost)))), messages));
  CHECK_FALSE(at_limit.feed(wire(sealer.seal(std::make_shared<const Message>(Bytes(kMost + 1)))), messages));
}

}  // namespace ronde
