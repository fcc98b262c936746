#include "control/messages.h"

#include <algorithm>

namespace ronde {
namespace {

constexpr size_t kMostTextBytes = 4 << 10;
constexpr size_t kMostCallTextBytes = 512;
constexpr size_t kMostOtherBytes = 1 << 10;

Writer begin(WordKind kind) {
  Writer writer;
  writer.number(kind);
  return writer;
}

void write_status(Writer& writer, const Status& status) {
  writer.number(static_cast<uint32_t>(status.code()));
  writer.text(std::string_view(status.message()).substr(0, kMostTextBytes));
}

void read_status(Reader& reader, Status& status) {
  const auto code = static_cast<rondeResult_t>(reader.number<uint32_t>());
  std::string text = reader.text();
  // Success would be no failure.
  status = Status(code == rondeSuccess ? rondeInternalError : code, std::move(text));
}

void write_call(Writer& writer, const CallNote& call) {
  writer.number(call.sequence).number(call.digest);
  writer.text(std::string_view(call.description).substr(0, kMostCallTextBytes));
}

void read_call(Reader& reader, CallNote& call) {
  call.sequence = reader.number<uint32_t>();
  call.digest = reader.number<uint32_t>();
  call.description = reader.text();
  call.description.resize(std::min(call.description.size(), kMostCallTextBytes));
}

void write_ranks(Writer& writer, const std::vector<uint32_t>& ranks) {
  writer.number(static_cast<uint32_t>(ranks.size()));
  for (const uint32_t rank : ranks) writer.number(rank);
}

void read_ranks(Reader& reader, std::vector<uint32_t>& ranks) {
  const auto count = reader.number<uint32_t>();
  ranks.clear();
  for (uint32_t i = 0; i < count && reader.ok(); ++i) ranks.push_back(reader.number<uint32_t>());
}

}  // namespace

size_t most_control_bytes(uint32_t nranks) {
  return kMostTextBytes + kMostCallTextBytes + kMostOtherBytes + size_t{nranks} * 2 * sizeof(uint32_t);
}

Bytes encode_lost(uint32_t rank, const Status& how) {
  Writer writer = begin(WordKind::lost);
  writer.number(rank);
  write_status(writer, how);
  return writer.take();
}

Bytes encode_status(WordKind kind, const Status& status) {
  Writer writer = begin(kind);
  write_status(writer, status);
  return writer.take();
}

Bytes encode_inquiry(const CallNote& call) {
  Writer writer = begin(WordKind::inquiry);
  write_call(writer, call);
  return writer.take();
}

Bytes encode(const LateNote& note) {
  Writer writer = begin(WordKind::late);
  writer.number(note.sequence);
  write_ranks(writer, note.behind);
  write_ranks(writer, note.silent);
  return writer.take();
}

Bytes encode(const Answer& answer) {
  Writer writer;
  writer.number(answer.whereabouts.begun);
  writer.number(static_cast<uint8_t>(answer.waits));
  writer.number(static_cast<uint8_t>(answer.whereabouts.call.has_value()));
  if (answer.whereabouts.call) write_call(writer, *answer.whereabouts.call);
  writer.number(static_cast<uint32_t>(answer.departed.size()));
  for (const auto& [rank, begun] : answer.departed) writer.number(rank).number(begun);
  return writer.take();
}

Bytes encode_goodbye(uint32_t begun) {
  Writer writer = begin(WordKind::goodbye);
  writer.number(begun);
  return writer.take();
}

bool decode_lost(Reader& reader, uint32_t& rank, Status& how) {
  rank = reader.number<uint32_t>();
  read_status(reader, how);
  return reader.complete();
}

bool decode(Reader& reader, Status& status) {
  read_status(reader, status);
  return reader.complete();
}

bool decode(Reader& reader, CallNote& call) {
  read_call(reader, call);
  return reader.complete();
}

bool decode(Reader& reader, LateNote& note) {
  note.sequence = reader.number<uint32_t>();
  read_ranks(reader, note.behind);
  read_ranks(reader, note.silent);
  return reader.complete();
}

bool decode(Reader& reader, Answer& answer) {
  answer.whereabouts.begun = reader.number<uint32_t>();
  answer.waits = reader.number<uint8_t>() != 0;
  answer.whereabouts.call.reset();
  if (reader.number<uint8_t>() != 0) read_call(reader, answer.whereabouts.call.emplace());
  const auto count = reader.number<uint32_t>();
  answer.departed.clear();
  for (uint32_t i = 0; i < count && reader.ok(); ++i) {
    const auto rank = reader.number<uint32_t>();
    answer.departed.emplace_back(rank, reader.number<uint32_t>());
  }
  return reader.complete();
}

bool decode_goodbye(Reader& reader, uint32_t& begun) {
  begun = reader.number<uint32_t>();
  return reader.complete();
}

}  // namespace ronde
