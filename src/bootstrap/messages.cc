#include "bootstrap/messages.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>

#include "base/crypto.h"

namespace ronde {
namespace {

SharedMessage finish(Writer& writer) { return std::make_shared<const Message>(writer.take()); }

Writer begin(MessageKind kind) {
  Writer writer;
  writer.number(kind);
  return writer;
}

}  // namespace

size_t most_bytes_to_member(uint32_t nranks) {
  constexpr uint64_t kMostFrameBytes = 1 << 30;
  const uint64_t table = uint64_t{nranks} * (kMostGiftBytes + sizeof(uint32_t)) + kMostTextBytes + kMostOtherBytes;
  return static_cast<size_t>(std::min(table, kMostFrameBytes));
}

std::string ProcessIdentity::text() const { return fmt::format("pid {} on host {}", pid, host); }

ProcessIdentity ProcessIdentity::of_this_process() {
  // A forked child has the token too, but another pid.
  static const uint64_t token = [] {
    std::array<std::byte, sizeof(uint64_t)> bytes{};
    (void)random_bytes(bytes).ok();  // without it only a message is less exact
    return Reader(bytes).number<uint64_t>();
  }();
  ProcessIdentity self;
  char host[256] = "unknown";
  if (gethostname(host, sizeof host - 1) == 0) host[sizeof host - 1] = '\0';
  self.host = host;
  self.pid = static_cast<uint32_t>(getpid());
  self.token = token;
  return self;
}

SharedMessage encode(MessageKind kind) {
  Writer writer = begin(kind);
  return finish(writer);
}

SharedMessage encode(const JoinMessage& message) {
  Writer writer = begin(MessageKind::join);
  writer.number(message.nranks).number(message.rank);
  writer.text(message.process.host).number(message.process.pid).number(message.process.token);
  return finish(writer);
}

SharedMessage encode(const TableMessage& message) {
  Writer writer = begin(MessageKind::table);
  writer.text(message.root_holder).number(static_cast<uint32_t>(message.parts.size()));
  for (const Bytes& part : message.parts) writer.bytes(part);
  return finish(writer);
}

SharedMessage encode_gift(ByteView part) {
  Writer writer = begin(MessageKind::give);
  writer.bytes(part);
  return finish(writer);
}

SharedMessage encode_missing(const std::vector<uint32_t>& ranks) {
  Writer writer = begin(MessageKind::missing);
  write_ranks(writer, ranks);
  return finish(writer);
}

SharedMessage encode_status(MessageKind kind, const Status& status) {
  Writer writer = begin(kind);
  write_status(writer, status);
  return finish(writer);
}

bool decode(Reader& reader, JoinMessage& message) {
  message.nranks = reader.number<uint32_t>();
  message.rank = reader.number<uint32_t>();
  message.process.host = reader.text();
  message.process.pid = reader.number<uint32_t>();
  message.process.token = reader.number<uint64_t>();
  return reader.complete() && message.nranks >= 1;
}

bool decode(Reader& reader, TableMessage& message) {
  message.root_holder = reader.text();
  const auto count = reader.number<uint32_t>();
  message.parts.clear();
  for (uint32_t i = 0; i < count && reader.ok(); ++i) {
    const ByteView part = reader.bytes();
    message.parts.emplace_back(part.begin(), part.end());
  }
  return reader.complete();
}

bool decode_gift(Reader& reader, Bytes& part) {
  const ByteView bytes = reader.bytes();
  part.assign(bytes.begin(), bytes.end());
  return reader.complete() && part.size() <= kMostGiftBytes;
}

bool decode_ranks(Reader& reader, std::vector<uint32_t>& ranks) {
  ranks = read_ranks(reader);
  return reader.complete();
}

bool decode_status(Reader& reader, Status& status) { return read_status(reader, status) && reader.complete(); }

void write_ranks(Writer& writer, const std::vector<uint32_t>& ranks) {
  writer.number(static_cast<uint32_t>(ranks.size()));
  for (const uint32_t rank : ranks) writer.number(rank);
}

std::vector<uint32_t> read_ranks(Reader& reader) {
  const auto count = reader.number<uint32_t>();
  std::vector<uint32_t> ranks;
  for (uint32_t i = 0; i < count && reader.ok(); ++i) ranks.push_back(reader.number<uint32_t>());
  return ranks;
}

void write_status(Writer& writer, const Status& status) {
  writer.number(static_cast<uint32_t>(status.code()));
  writer.text(std::string_view(status.message()).substr(0, kMostTextBytes));
}

bool read_status(Reader& reader, Status& status) {
  const auto code = reader.number<uint32_t>();
  std::string text = reader.text();
  if (!reader.ok() || code == rondeSuccess || code > rondeRevoked) return false;
  status = Status(static_cast<rondeResult_t>(code), std::move(text));
  return true;
}

std::string ranks_text(const std::vector<uint32_t>& ranks) {
  std::vector<std::string> runs;
  for (size_t i = 0; i < ranks.size();) {
    size_t end = i + 1;
    while (end < ranks.size() && ranks[end] == ranks[end - 1] + 1) ++end;
    if (end - i >= 3) {
      runs.push_back(fmt::format("{}-{}", ranks[i], ranks[end - 1]));
    } else {
      for (size_t j = i; j < end; ++j) runs.push_back(std::to_string(ranks[j]));
    }
    i = end;
  }
  if (runs.empty()) return "no rank";
  std::string text = ranks.size() == 1 ? "rank " : "ranks ";
  for (size_t i = 0; i < runs.size(); ++i) {
    if (i > 0) text += i + 1 == runs.size() ? " and " : ", ";
    text += runs[i];
  }
  return text;
}

}  // namespace ronde
