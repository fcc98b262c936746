#include "control/messages.h"

#include <algorithm>

#include "bootstrap/messages.h"

namespace ronde {
namespace {

constexpr size_t kMostCallTextBytes = 512;
constexpr size_t kMostWaitTextBytes = 128;  // of one of many
constexpr size_t kMostMeetingBytes = RONDE_UNIQUE_ID_BYTES;
constexpr size_t kMostRestBytes = 1 << 10;

Writer begin(WordKind kind) {
  Writer writer;
  writer.number(kind);
  return writer;
}

void write_some(Writer& writer, const std::vector<uint32_t>& ranks) {
  const auto count = static_cast<ptrdiff_t>(std::min(ranks.size(), kMostAwaited));
  write_ranks(writer, {ranks.begin(), ranks.begin() + count});
}

[[nodiscard]] bool read_some(Reader& reader, std::vector<uint32_t>& ranks) {
  ranks = read_ranks(reader);
  return reader.ok() && ranks.size() <= kMostAwaited;
}

void write_call(Writer& writer, const CallNote& call, size_t most_text_bytes = kMostCallTextBytes) {
  writer.number(call.sequence).number(call.digest).number(static_cast<uint8_t>(call.numbered));
  writer.text(std::string_view(call.description).substr(0, most_text_bytes));
  write_some(writer, call.sends_to);
  write_some(writer, call.receives_from);
}

[[nodiscard]] bool read_call(Reader& reader, CallNote& call) {
  call.sequence = reader.number<uint32_t>();
  call.digest = reader.number<uint32_t>();
  call.numbered = reader.number<uint8_t>() != 0;
  call.description = reader.text();
  call.description.resize(std::min(call.description.size(), kMostCallTextBytes));
  return read_some(reader, call.sends_to) && read_some(reader, call.receives_from);
}

void write_departures(Writer& writer, const Departures& departed, size_t most) {
  const size_t count = std::min(departed.size(), most);
  writer.number(static_cast<uint32_t>(count));
  for (size_t i = 0; i < count; ++i) writer.number(departed[i].first).number(departed[i].second);
}

Departures read_departures(Reader& reader) {
  Departures departed;
  const auto count = reader.number<uint32_t>();
  for (uint32_t i = 0; i < count && reader.ok(); ++i) {
    const auto rank = reader.number<uint32_t>();
    departed.emplace_back(rank, reader.number<uint32_t>());
  }
  return departed;
}

void write_ballot(Writer& writer, const Ballot& ballot) { writer.number(ballot.round).number(ballot.rank); }

Ballot read_ballot(Reader& reader) {
  Ballot ballot;
  ballot.round = reader.number<uint32_t>();
  ballot.rank = reader.number<uint32_t>();
  return ballot;
}

void write_set(Writer& writer, const std::set<uint32_t>& ranks) { write_ranks(writer, {ranks.begin(), ranks.end()}); }

std::set<uint32_t> read_set(Reader& reader) {
  const std::vector<uint32_t> ranks = read_ranks(reader);
  return {ranks.begin(), ranks.end()};
}

void write_decision(Writer& writer, const ShrinkDecision& decision) {
  writer.number(static_cast<uint8_t>(decision.status.ok()));
  if (!decision.status.ok()) return write_status(writer, decision.status);
  write_ranks(writer, decision.members);
  writer.bytes(decision.meeting);
}

bool read_decision(Reader& reader, ShrinkDecision& decision) {
  const bool agreed = reader.number<uint8_t>() != 0;
  if (!agreed) return read_status(reader, decision.status);
  decision.members = read_ranks(reader);
  const ByteView meeting = reader.bytes();
  decision.meeting.assign(meeting.begin(), meeting.end());
  return reader.ok() && decision.meeting.size() <= kMostMeetingBytes;
}

}  // namespace

bool CallNote::sends(uint32_t rank) const { return std::binary_search(sends_to.begin(), sends_to.end(), rank); }
bool CallNote::receives(uint32_t rank) const {
  return std::binary_search(receives_from.begin(), receives_from.end(), rank);
}

// At most two numbers for each rank; texts of calls in answers, and waits in notes, besides those of failures.
size_t most_control_bytes(uint32_t nranks) {
  constexpr size_t kMostAwaitedBytes = kMostAwaited * sizeof(uint32_t);
  constexpr size_t kMostCallBytes = 2 * (kMostCallTextBytes + 2 * kMostAwaitedBytes);
  constexpr size_t kMostWaitsBytes = kMostWaits * (kMostWaitTextBytes + kMostAwaitedBytes + 64);
  return 2 * kMostTextBytes + kMostCallBytes + kMostWaitsBytes + kMostMeetingBytes + kMostRestBytes +
         size_t{nranks} * 2 * sizeof(uint32_t);
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
  writer.number(note.sequence).number(static_cast<uint8_t>(note.numbered));
  write_ranks(writer, note.behind);
  write_ranks(writer, note.silent);
  const size_t count = std::min(note.waits.size(), kMostWaits);
  writer.number(static_cast<uint32_t>(count));
  for (size_t i = 0; i < count; ++i) {
    writer.number(note.waits[i].rank);
    write_call(writer, note.waits[i].call, kMostWaitTextBytes);
    write_some(writer, note.waits[i].awaited);
  }
  return writer.take();
}

Bytes encode(const Answer& answer) {
  Writer writer = begin(WordKind::inquiry);
  writer.number(answer.whereabouts.begun);
  for (const std::optional<CallNote>* call : {&answer.whereabouts.call, &answer.wait}) {
    writer.number(static_cast<uint8_t>(call->has_value()));
    if (*call) write_call(writer, **call);
  }
  write_departures(writer, answer.departed, answer.departed.size());
  return writer.take();
}

Bytes encode(const ShrinkQuestion& question) {
  Writer writer = begin(WordKind::shrink_question);
  writer.number(question.number);
  write_ballot(writer, question.ballot);
  write_set(writer, question.excluded);
  write_ranks(writer, question.missing);
  return writer.take();
}

Bytes encode(const ShrinkAnswer& answer) {
  Writer writer = begin(WordKind::shrink_question);
  writer.number(answer.number);
  write_ballot(writer, answer.promised);
  write_set(writer, answer.excluded);
  writer.number(static_cast<uint8_t>(answer.decision.has_value()));
  if (answer.decision) write_decision(writer, *answer.decision);
  writer.number(static_cast<uint8_t>(answer.refusal.has_value()));
  if (answer.refusal) write_status(writer, *answer.refusal);
  return writer.take();
}

Bytes encode(const ShrinkCommit& commit) {
  Writer writer = begin(WordKind::shrink_commit);
  writer.number(commit.number);
  write_ballot(writer, commit.ballot);
  write_decision(writer, commit.decision);
  return writer.take();
}

Bytes encode_left(const std::vector<uint32_t>& ranks) {
  Writer writer = begin(WordKind::left);
  write_ranks(writer, ranks);
  return writer.take();
}

Bytes encode_goodbye(const Goodbye& goodbye) {
  Writer writer = begin(WordKind::goodbye);
  writer.number(goodbye.begun);
  write_departures(writer, goodbye.departed, kMostTold);
  return writer.take();
}

bool decode_lost(Reader& reader, uint32_t& rank, Status& how) {
  rank = reader.number<uint32_t>();
  return read_status(reader, how) && reader.complete();
}

bool decode(Reader& reader, CallNote& call) { return read_call(reader, call) && reader.complete(); }

bool decode(Reader& reader, LateNote& note) {
  note.sequence = reader.number<uint32_t>();
  note.numbered = reader.number<uint8_t>() != 0;
  note.behind = read_ranks(reader);
  note.silent = read_ranks(reader);
  const auto count = reader.number<uint32_t>();
  if (count > kMostWaits) return false;
  note.waits.clear();
  for (uint32_t i = 0; i < count; ++i) {
    RankWait& wait = note.waits.emplace_back();
    wait.rank = reader.number<uint32_t>();
    if (!read_call(reader, wait.call) || !read_some(reader, wait.awaited)) return false;
  }
  return reader.complete();
}

bool decode(Reader& reader, Answer& answer) {
  answer.whereabouts.begun = reader.number<uint32_t>();
  for (std::optional<CallNote>* call : {&answer.whereabouts.call, &answer.wait}) {
    call->reset();
    if (reader.number<uint8_t>() != 0 && !read_call(reader, call->emplace())) return false;
  }
  answer.departed = read_departures(reader);
  return reader.complete();
}

bool decode(Reader& reader, ShrinkQuestion& question) {
  question.number = reader.number<uint32_t>();
  question.ballot = read_ballot(reader);
  question.excluded = read_set(reader);
  question.missing = read_ranks(reader);
  return reader.complete();
}

bool decode(Reader& reader, ShrinkAnswer& answer) {
  answer.number = reader.number<uint32_t>();
  answer.promised = read_ballot(reader);
  answer.excluded = read_set(reader);
  answer.decision.reset();
  answer.refusal.reset();
  if (reader.number<uint8_t>() != 0 && !read_decision(reader, answer.decision.emplace())) return false;
  if (reader.number<uint8_t>() != 0 && !read_status(reader, answer.refusal.emplace())) return false;
  return reader.complete();
}

bool decode(Reader& reader, ShrinkCommit& commit) {
  commit.number = reader.number<uint32_t>();
  commit.ballot = read_ballot(reader);
  return read_decision(reader, commit.decision) && reader.complete();
}

bool decode(Reader& reader, Goodbye& goodbye) {
  goodbye.begun = reader.number<uint32_t>();
  goodbye.departed = read_departures(reader);
  return reader.complete() && goodbye.departed.size() <= kMostTold;
}

}  // namespace ronde
