// The sends and receives of a group.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "runtime/group.h"

namespace ronde {

OperationArgs messages_of(std::vector<PairMessage> messages) {
  OperationArgs args;
  args.what = Collective::send_receive;
  args.type = rondeUint8;
  args.root = messages.front().peer;
  for (const PairMessage& message : messages) args.count += message.bytes;
  args.messages_kind = messages.size() > 1         ? MessagesKind::several
                       : messages.front().outgoing ? MessagesKind::send
                                                   : MessagesKind::receive;
  args.messages = std::make_shared<const std::vector<PairMessage>>(std::move(messages));
  return args;
}

Status check_own_messages(const OperationArgs& args, int rank) {
  std::vector<size_t> sent;
  std::vector<size_t> received;
  for (const PairMessage& message : *args.messages) {
    if (message.peer == rank) (message.outgoing ? sent : received).push_back(message.bytes);
  }
  if (sent.size() != received.size())
    return {rondeInvalidUsage,
            fmt::format("rank {} sends {} messages to itself and receives {}: each rondeSend needs its "
                        "rondeRecv in the same group",
                        rank, sent.size(), received.size())};
  const auto [send, receive] = std::mismatch(sent.begin(), sent.end(), received.begin());
  if (send == sent.end()) return {};
  return {rondeInvalidUsage, fmt::format("rank {} sends {} bytes to itself and receives {}", rank, *send, *receive)};
}

Result<std::vector<GroupCall>> with_messages_together(std::vector<GroupCall> calls) {
  std::vector<GroupCall> together;
  struct Batch {
    Stream* stream = nullptr;
    std::vector<PairMessage> messages;
  };
  std::vector<std::pair<Communicator*, Batch>> batches;  // in the order of their first calls
  for (GroupCall& call : calls) {
    if (is_numbered(call.args)) {
      together.push_back(std::move(call));
      continue;
    }
    auto at = std::find_if(batches.begin(), batches.end(),
                           [&](const auto& entry) { return entry.first == call.communicator; });
    if (at == batches.end()) at = batches.insert(batches.end(), {call.communicator, {call.stream, {}}});
    if (at->second.stream != call.stream)
      return Status(rondeInvalidUsage,
                    fmt::format("rank {} of {}: the sends and receives of one communicator in a group must name one "
                                "stream",
                                call.communicator->rank(), call.communicator->nranks()));
    at->second.messages.insert(at->second.messages.end(), call.args.messages->begin(), call.args.messages->end());
  }
  for (auto& [communicator, batch] : batches) {
    OperationArgs args = messages_of(std::move(batch.messages));
    RONDE_TRY(check_own_messages(args, communicator->rank()));
    together.push_back({communicator, batch.stream, std::move(args)});
  }
  return together;
}

}  // namespace ronde
