// How messages travel on a proved connection: length, bytes, MAC. The MAC covers direction, a counter of the messages
// and all bytes, under the key of this connection: a message that was altered, left out, repeated or sent back fails.
//
//   length u32 | bytes | HMAC-SHA-256 over {direction u8, counter u64, length u32, SHA-256 of the bytes}
//
// Bytes only; no sockets, no clocks.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "base/crypto.h"
#include "base/wire.h"

namespace ronde {

enum class Direction : uint8_t { to_server = 1, to_client = 2 };

// A message to be sent. Shared, since the table of all ranks goes to each of them and is hashed once only.
struct Message {
  explicit Message(Bytes content) : bytes(std::move(content)), digest(sha256(bytes)) {}
  const Bytes bytes;
  const Digest digest;
};
using SharedMessage = std::shared_ptr<const Message>;

inline constexpr size_t kFrameHeadBytes = 4;

struct Frame {
  std::array<std::byte, kFrameHeadBytes> head{};
  SharedMessage message;
  Mac mac{};
};

class FrameSealer {
 public:
  FrameSealer(const Key& session_key, Direction direction) : key_(session_key), direction_(direction) {}
  // Messages have at most 2^32 - 1 bytes. Frames must be sent in the order in which they were sealed.
  [[nodiscard]] Frame seal(SharedMessage message);

 private:
  Key key_;
  Direction direction_;
  uint64_t counter_ = 0;
};

class FrameOpener {
 public:
  FrameOpener(const Key& session_key, Direction direction, size_t most_bytes)
      : key_(session_key), direction_(direction), most_bytes_(most_bytes) {}

  // Takes bytes as they come and appends the messages that are complete and right. Memory grows with the bytes that
  // came, not with what a length announces. False: the connection is worth nothing any more; problem() says why.
  [[nodiscard]] bool feed(ByteView bytes, std::vector<Bytes>& messages);
  [[nodiscard]] const char* problem() const { return problem_; }

 private:
  bool refuse(const char* why);

  Key key_;
  Direction direction_;
  size_t most_bytes_;
  uint64_t counter_ = 0;
  Bytes frame_;  // of the message in progress
  const char* problem_ = "";
};

}  // namespace ronde
