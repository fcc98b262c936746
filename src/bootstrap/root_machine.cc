#include "bootstrap/root_machine.h"

#include <fmt/format.h>

#include <algorithm>

namespace ronde {
namespace {

constexpr Milliseconds kLinger{5'000};

}  // namespace

RootMachine::RootMachine(ProcessIdentity own, Milliseconds nobody_limit, Time now)
    : own_(std::move(own)), nobody_until_(now + nobody_limit) {}

void RootMachine::opened(ConnectionId connection, const Claim& claim) { unjoined_.emplace(connection, claim); }

void RootMachine::received(ConnectionId connection, ByteView message, Time now) {
  Reader reader(message);
  const auto kind = reader.number<MessageKind>();
  if (const auto waiting = unjoined_.find(connection); waiting != unjoined_.end()) {
    const Claim claim = waiting->second;
    unjoined_.erase(waiting);
    JoinMessage join_message;
    if (kind == MessageKind::join && decode(reader, join_message)) {
      join(connection, claim, join_message, now);
    } else {
      closes_.push_back(connection);
    }
    return;
  }
  if (const auto joined = ranks_.find(connection); joined != ranks_.end())
    member_message(joined->second, kind, reader, now);
}

void RootMachine::join(ConnectionId connection, const Claim& claim, const JoinMessage& message, Time now) {
  const uint32_t rank = message.rank;
  if (claim.role != Role::rendezvous || claim.client_rank != rank)
    return refuse(connection,
                  {rondeInternalError, fmt::format("rank {} proved to be rank {}", rank, claim.client_rank)});
  if (failure_) {
    refused_ranks_.insert(rank);
    refuse(connection, *failure_);
    return check_finished(now);
  }
  if (const Status fault = check_join(message); !fault.ok()) return refuse(connection, fault);

  const auto first = members_.begin();
  if (nranks_ != 0 && message.nranks != nranks_) {
    fail(
        {rondeInvalidUsage, fmt::format("rank {} ({}) was started as one of {} ranks, but {} as one of {}: all must be "
                                        "given the same number",
                                        rank, message.process.text(), message.nranks, who(first->first), nranks_)},
        std::nullopt, now);
    refused_ranks_.insert(rank);
    return refuse(connection, *failure_);
  }
  if (const auto taken = members_.find(rank); taken != members_.end()) {
    fail({rondeInvalidUsage,
          fmt::format("rank {} was claimed twice, by {} and by {}: each rank joins once, and an id is "
                      "good for one communicator (was this id used twice?)",
                      rank, taken->second.process.text(), message.process.text())},
         std::nullopt, now);
    return refuse(connection, *failure_);
  }
  nranks_ = message.nranks;
  Member& member = members_[rank];
  member.connection = connection;
  member.process = message.process;
  ranks_.emplace(connection, rank);
  complete_ = members_.size() == nranks_;
  send(connection, encode(MessageKind::welcome));
}

// What concerns the one who joins alone.
Status RootMachine::check_join(const JoinMessage& message) const {
  if (complete_)
    return {rondeInvalidUsage,
            fmt::format("this id was used already: its communicator of {} ranks has met, and an id is "
                        "good for one communicator",
                        nranks_)};
  if (message.nranks > kMostRanks)
    return {rondeInvalidUsage, fmt::format("{} ranks are more than the {} that can meet", message.nranks, kMostRanks)};
  if (message.rank >= message.nranks)
    return {rondeInvalidUsage,
            fmt::format("rank {} is none of 0..{} ({} ranks)", message.rank, message.nranks - 1, message.nranks)};
  return {};
}

void RootMachine::member_message(uint32_t rank, MessageKind kind, Reader& reader, Time now) {
  if (members_[rank].state != MemberState::present) return;
  Bytes part;
  Status reported;
  if (kind == MessageKind::give && decode_gift(reader, part)) {
    give(rank, std::move(part), now);
  } else if (kind == MessageKind::ask && reader.complete()) {
    send(members_[rank].connection, encode_missing(missing_ranks()));
  } else if (kind == MessageKind::report && decode_status(reader, reported)) {
    fail({reported.code(), fmt::format("{}: {}", who(rank), reported.message())}, rank, now);
  } else if (kind == MessageKind::leave && reader.complete()) {
    leave(rank, now);
  } else {
    fail({rondeInternalError, fmt::format("{} sent a message that the meeting point does not know", who(rank))},
         std::nullopt, now);
  }
}

void RootMachine::give(uint32_t rank, Bytes part, Time now) {
  if (failure_) return;
  Member& member = members_[rank];
  if (member.part)
    return fail({rondeInternalError, fmt::format("{} handed in its part twice", who(rank))}, std::nullopt, now);
  member.part = std::move(part);
  ++parts_;
  for (const auto& [other, state] : members_)
    if (state.state == MemberState::left)
      return fail({rondeRemoteError, fmt::format("{} left, but {} still waits for it", who(other), who(rank))}, other,
                  now);
  if (complete_ && parts_ == nranks_) hand_out_table();
}

void RootMachine::hand_out_table() {
  TableMessage table;
  table.root_holder = holder_text();
  for (auto& [rank, member] : members_) {
    table.parts.push_back(std::move(*member.part));
    member.part.reset();
  }
  parts_ = 0;
  const SharedMessage message = encode(table);
  for (const auto& [rank, member] : members_) send(member.connection, message);
}

void RootMachine::leave(uint32_t rank, Time now) {
  Member& member = members_[rank];
  member.state = MemberState::left;
  closes_.push_back(member.connection);
  const bool others_wait = parts_ > (member.part ? 1u : 0u);
  if (!complete_) {
    fail({rondeRemoteError, fmt::format("{} left before all {} ranks had come", who(rank), nranks_)}, rank, now);
  } else if (others_wait) {
    fail({rondeRemoteError, fmt::format("{} left while others still waited for it", who(rank))}, rank, now);
  }
  part_if_own_ranks_left();
  check_finished(now);
}

// Once no rank of this process is left, the process may end at any moment, without another word.
void RootMachine::part_if_own_ranks_left() {
  const std::vector<uint32_t> own = own_ranks();
  const bool all_left = std::all_of(own.begin(), own.end(),
                                    [this](uint32_t rank) { return members_.at(rank).state == MemberState::left; });
  if (!complete_ || own.empty() || !all_left || std::exchange(parted_, true)) return;
  const SharedMessage message = encode(MessageKind::closing);
  for (const auto& [rank, member] : members_)
    if (member.state == MemberState::present) send(member.connection, message);
}

std::vector<uint32_t> RootMachine::missing_ranks() const {
  std::vector<uint32_t> missing;
  for (uint32_t rank = 0; rank < nranks_; ++rank) {
    const auto member = members_.find(rank);
    if (member == members_.end() || !member->second.part) missing.push_back(rank);
  }
  return missing;
}

std::string RootMachine::who(uint32_t rank) const {
  const auto member = members_.find(rank);
  if (member == members_.end()) return fmt::format("rank {}", rank);
  return fmt::format("rank {} ({})", rank, member->second.process.text());
}

std::vector<uint32_t> RootMachine::own_ranks() const {
  std::vector<uint32_t> ranks;
  for (const auto& [rank, member] : members_)
    if (member.process.same_process(own_)) ranks.push_back(rank);
  return ranks;
}

std::string RootMachine::holder_text() const {
  const std::vector<uint32_t> ranks = own_ranks();
  return ranks.empty() ? "" : fmt::format("{} ({})", ranks_text(ranks), own_.text());
}

void RootMachine::closed(ConnectionId connection, const Status& end, Time now) {
  unjoined_.erase(connection);
  const auto joined = ranks_.find(connection);
  if (joined == ranks_.end()) return;
  const uint32_t rank = joined->second;
  ranks_.erase(joined);
  if (members_[rank].state == MemberState::present) lose(rank, end, now);
  check_finished(now);
}

void RootMachine::lose(uint32_t rank, const Status& end, Time now) {
  members_[rank].state = MemberState::lost;
  fail({end.code(), fmt::format("{} {}", who(rank), end.message())}, rank, now);
}

void RootMachine::fail(Status failure, std::optional<uint32_t> origin, Time now) {
  if (failure_) return;  // the first one counts
  failure_ = std::move(failure);
  if (!complete_) linger_until_ = now + kLinger;
  const SharedMessage message = encode_status(MessageKind::failure, *failure_);
  for (const auto& [rank, member] : members_)
    if (member.state == MemberState::present && rank != origin) send(member.connection, message);
}

void RootMachine::refuse(ConnectionId connection, const Status& why) {
  send(connection, encode_status(MessageKind::refused, why));
  closes_.push_back(connection);
}

void RootMachine::advance(Time now) { check_finished(now); }

void RootMachine::check_finished(Time now) {
  if (somebody_present()) return;
  if (members_.empty()) {
    finished_ = finished_ || now >= nobody_until_;
    return;
  }
  size_t know = members_.size();
  for (const uint32_t rank : refused_ranks_) know += members_.contains(rank) ? 0 : 1;
  finished_ = finished_ || know >= nranks_ || now >= linger_until_;
}

bool RootMachine::somebody_present() const {
  return std::any_of(members_.begin(), members_.end(),
                     [](const auto& member) { return member.second.state == MemberState::present; });
}

void RootMachine::end() {
  // The ranks of this process end with it: the goodbye of the root must not pass for theirs.
  for (const uint32_t rank : own_ranks()) {
    if (complete_ && members_[rank].state == MemberState::present)
      lose(rank, {rondePeerLost, "ended without saying goodbye"}, Time::min());
  }
  const SharedMessage message = encode(MessageKind::closing);
  for (const auto& [connection, claim] : unjoined_) closes_.push_back(connection);
  for (const auto& [rank, member] : members_) {
    if (member.state != MemberState::present) continue;
    send(member.connection, message);
    closes_.push_back(member.connection);
  }
  finished_ = true;
}

Deadline RootMachine::next_deadline() const {
  if (finished_) return Deadline::never();
  if (somebody_present()) return Deadline::never();
  return members_.empty() ? Deadline::at(nobody_until_) : Deadline::at(linger_until_);
}

}  // namespace ronde
