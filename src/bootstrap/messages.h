// What members and root say to each other, and its bytes.
//
//   member -> root   Join, Give (its part of an exchange), Ask (who is missing?), Report, Leave
//   root -> member   Welcome, Refused, Table (the parts of all), Missing (the answer to Ask), Failure, Closing (the
//   root's
//                    process may end from now on)
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/status.h"
#include "bootstrap/frame.h"

namespace ronde {

enum class MessageKind : uint8_t {
  join = 1,
  give = 2,
  ask = 3,
  report = 4,
  leave = 5,
  welcome = 16,
  refused = 17,
  table = 18,
  missing = 19,
  failure = 20,
  closing = 21,
};

inline constexpr uint32_t kMostRanks = 1 << 16;
inline constexpr size_t kMostGiftBytes = 64 << 10;
inline constexpr size_t kMostTextBytes = 4 << 10;
// Beyond gift or text: kind, lengths, names.
inline constexpr size_t kMostOtherBytes = 4 << 10;
inline constexpr size_t kMostBytesToRoot = kMostGiftBytes + kMostOtherBytes;
// A table of nranks parts, the longest message that a root sends.
[[nodiscard]] size_t most_bytes_to_member(uint32_t nranks);

// A process, for messages to people and to see which ranks live in the process of the root.
struct ProcessIdentity {
  std::string host;
  uint32_t pid = 0;
  uint64_t token = 0;  // random: equal only within one process

  [[nodiscard]] bool same_process(const ProcessIdentity& other) const {
    return token == other.token && pid == other.pid;
  }
  [[nodiscard]] std::string text() const;  // "pid 4242 on host node-a"
  static ProcessIdentity of_this_process();
};

struct JoinMessage {
  uint32_t nranks = 0;
  uint32_t rank = 0;
  ProcessIdentity process;
};
struct TableMessage {
  std::vector<Bytes> parts;  // in rank order
  std::string root_holder;   // who lives in the root's process: "rank 0 (pid 12 on host a)"; empty: no rank
};

// Each without a field is its kind alone.
[[nodiscard]] SharedMessage encode(MessageKind kind);
[[nodiscard]] SharedMessage encode(const JoinMessage& message);
[[nodiscard]] SharedMessage encode(const TableMessage& message);
[[nodiscard]] SharedMessage encode_gift(ByteView part);
[[nodiscard]] SharedMessage encode_missing(const std::vector<uint32_t>& ranks);
// kind: report, failure or refused. The text is cut at kMostTextBytes.
[[nodiscard]] SharedMessage encode_status(MessageKind kind, const Status& status);

// The readers take what follows the kind. False: the bytes are none of ours.
[[nodiscard]] bool decode(Reader& reader, JoinMessage& message);
[[nodiscard]] bool decode(Reader& reader, TableMessage& message);
[[nodiscard]] bool decode_gift(Reader& reader, Bytes& part);
[[nodiscard]] bool decode_ranks(Reader& reader, std::vector<uint32_t>& ranks);
[[nodiscard]] bool decode_status(Reader& reader, Status& status);

// Parts of messages, of the control plane's too. read_status: false if what was written is no failure.
void write_ranks(Writer& writer, const std::vector<uint32_t>& ranks);
[[nodiscard]] std::vector<uint32_t> read_ranks(Reader& reader);
void write_status(Writer& writer, const Status& status);  // the text is cut at kMostTextBytes
[[nodiscard]] bool read_status(Reader& reader, Status& status);

// "rank 3", "ranks 1 and 4", "ranks 2-5, 9 and 12"; sorted ranks.
[[nodiscard]] std::string ranks_text(const std::vector<uint32_t>& ranks);

}  // namespace ronde
