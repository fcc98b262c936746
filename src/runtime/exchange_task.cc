#include "runtime/exchange_task.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "runtime/one_rank.h"

namespace ronde {

ExchangeRoom::ExchangeRoom(PairLinks& pair_links, int nranks, uint32_t counters_start)
    : links(pair_links),
      sent(static_cast<size_t>(nranks), counters_start),
      received(static_cast<size_t>(nranks), counters_start),
      last_out(static_cast<size_t>(nranks)),
      last_in(static_cast<size_t>(nranks)) {}

ExchangeTask::ExchangeTask(const OperationContext& context, const OperationArgs& args, uint32_t sequence,
                           const plan::Choice& choice, ExchangeRoom& room)
    : OperationTask(context, args, sequence, choice.algorithm),
      room_(room),
      slice_bytes_(choice.cut_bytes),
      in_place_(args.what == Collective::all_to_all && args.send == args.receive),
      synchronous_(!is_numbered(args)) {
  room_.out.clear();
  room_.in.clear();
  room_.open_out.clear();
  room_.open_in.clear();
  if (synchronous_) {
    plan_messages();
    copy_own_messages(*args.messages, context.rank);
  } else {
    plan_blocks();
    keep_own_block();
    for (Transfer& transfer : room_.out) room_.open_out.push_back(&transfer);
    for (Transfer& transfer : room_.in) room_.open_in.push_back(&transfer);
  }
}

// Those between two ranks follow each other.
void ExchangeTask::plan_messages() {
  const std::vector<PairMessage>& messages = *args().messages;
  room_.out.reserve(messages.size());  // transfers point to each other
  room_.in.reserve(messages.size());
  std::fill(room_.last_out.begin(), room_.last_out.end(), nullptr);
  std::fill(room_.last_in.begin(), room_.last_in.end(), nullptr);
  for (const PairMessage& message : messages) {
    if (message.peer == context().rank) continue;
    const auto peer = static_cast<size_t>(message.peer);
    Transfer& transfer = message.outgoing ? room_.out.emplace_back() : room_.in.emplace_back();
    transfer.peer = message.peer;
    transfer.number = ++(message.outgoing ? room_.sent : room_.received)[peer];
    Transfer* const before = std::exchange((message.outgoing ? room_.last_out : room_.last_in)[peer], &transfer);
    if (before != nullptr) {
      before->next = &transfer;
    } else {
      (message.outgoing ? room_.open_out : room_.open_in).push_back(&transfer);
    }
    transfer.bytes = message.bytes;
    transfer.from = static_cast<const std::byte*>(message.from);
    transfer.to = static_cast<std::byte*>(message.to);
  }
}

// In the order of schedule::Exchange: every rank has another partner in each round.
void ExchangeTask::plan_blocks() {
  const size_t size = element_bytes(args().type);
  const int nranks = context().nranks;
  for (int round = 0; round < nranks; ++round) {
    const int peer = (round + nranks - context().rank) % nranks;
    if (peer == context().rank) continue;
    if (const auto block = block_to(args(), context().rank, peer)) {
      Transfer& transfer = room_.out.emplace_back();
      transfer.peer = peer;
      transfer.number = sequence();
      transfer.bytes = block->count * size;
      if (transfer.bytes > 0) transfer.from = static_cast<const std::byte*>(args().send) + block->offset * size;
    }
    if (const auto block = block_from(args(), context().rank, peer)) {
      Transfer& transfer = room_.in.emplace_back();
      transfer.peer = peer;
      transfer.number = sequence();
      transfer.bytes = block->count * size;
      if (transfer.bytes > 0) transfer.to = static_cast<std::byte*>(args().receive) + block->offset * size;
    }
  }
}

void ExchangeTask::keep_own_block() const {
  const auto from = block_to(args(), context().rank, context().rank);
  const auto to = block_from(args(), context().rank, context().rank);
  if (!from || !to || from->count == 0) return;
  const size_t size = element_bytes(args().type);
  const std::byte* source = static_cast<const std::byte*>(args().send) + from->offset * size;
  std::byte* target = static_cast<std::byte*>(args().receive) + to->offset * size;
  if (source != target) copy_bytes(target, source, from->count * size, from->count * size >= plan::kStreamingBytes);
}

OperationProgress ExchangeTask::progress() const {
  OperationProgress progress;
  progress.total = static_cast<uint32_t>(room_.out.size() + room_.in.size());
  for (const auto* transfers : {&room_.out, &room_.in}) {
    progress.done += static_cast<uint32_t>(
        std::count_if(transfers->begin(), transfers->end(), [](const Transfer& one) { return one.done; }));
  }
  return progress;
}

void ExchangeTask::list_peers(CallNote& note) const {
  for (const Transfer& transfer : room_.out)
    if (!is_over(transfer)) note.sends_to.push_back(static_cast<uint32_t>(transfer.peer));
  for (const Transfer& transfer : room_.in)
    if (!transfer.done) note.receives_from.push_back(static_cast<uint32_t>(transfer.peer));
}

template <typename GoOn>
ExchangeTask::Step ExchangeTask::go_on(std::vector<Transfer*>& open, const GoOn& step_of) const {
  Step all = Step::waits;
  for (Transfer*& transfer : open) {
    while (transfer != nullptr) {
      const Step step = step_of(*transfer);
      if (step == Step::stopped) return step;
      if (step == Step::moved) all = step;
      if (!transfer->done || (transfer->next == nullptr && !is_over(*transfer))) break;
      transfer = transfer->next;
    }
  }
  std::erase(open, nullptr);
  return all;
}

Progress ExchangeTask::advance() {
  const Step came = go_on(room_.open_in, [this](Transfer& transfer) { return receive(transfer); });
  if (came == Step::stopped) return result_;
  const Step went = go_on(room_.open_out, [this](Transfer& transfer) { return send(transfer); });
  if (went == Step::stopped) return result_;
  const size_t open = room_.open_in.size() + room_.open_out.size();
  if (open == 0) return done();
  if (came == Step::moved || went == Step::moved) return Progress::moved;
  const auto& last = room_.open_out.empty() ? room_.open_in : room_.open_out;
  return blocked_on(open == 1 ? waits_for_rank(last.front()->peer) : kWaitsForAny, false);
}

// Sends what there is room for.
ExchangeTask::Step ExchangeTask::send(Transfer& transfer) {
  if (transfer.out == nullptr) {
    const Result<SendPort*> link = room_.links.send_to(transfer.peer);
    if (!link.ok()) {
      result_ = blocked_on_broken_link(link.status());
      return Step::stopped;
    }
    transfer.out = *link;
    if (transfer.out == nullptr) return Step::waits;
  }
  Step step = Step::waits;
  transfer.out->advance();
  while (!transfer.done) {
    const SliceHead slice = head(transfer);
    if (!send_slice(transfer, slice)) break;
    transfer.moved += slice.bytes;
    ++transfer.slices;
    transfer.done = transfer.moved == transfer.bytes;
    if (transfer.done && synchronous_) transfer.out->await_acknowledgement();
    step = Step::moved;
  }
  if (step == Step::waits && transfer.out->broken() != nullptr && !is_over(transfer)) {
    result_ = blocked_on_broken_link(*transfer.out->broken());
    return Step::stopped;
  }
  return step;
}

bool ExchangeTask::send_slice(Transfer& transfer, const SliceHead& head) const {
  const std::byte* payload = transfer.from + transfer.moved;
  if (!in_place_ && refers(transfer, payload, head.bytes)) return transfer.out->send_by_reference(head, payload);
  std::byte* slot = transfer.out->acquire();
  if (slot == nullptr) return false;
  if (head.bytes > 0) copy_bytes(slot, payload, head.bytes, false);
  transfer.out->count_staged(head.bytes);
  transfer.out->commit(head);
  return true;
}

bool ExchangeTask::refers(const Transfer& transfer, const std::byte* payload, size_t bytes) {
  if (transfer.out->by_reference()) return true;
  return transfer.bytes > plan::kCopiedBytes && transfer.out->lends(payload, bytes);
}

ExchangeTask::Step ExchangeTask::receive(Transfer& transfer) {
  if (transfer.in == nullptr) {
    const Result<ReceivePort*> link = room_.links.receive_from(transfer.peer);
    if (!link.ok()) {
      result_ = blocked_on_broken_link(link.status());
      return Step::stopped;
    }
    transfer.in = *link;
    if (transfer.in == nullptr) return Step::waits;
  }
  ReceivePort& port = *transfer.in;
  Step step = Step::waits;
  while (!transfer.done) {
    if (transfer.slices > 0 && transfer.moved == transfer.bytes) {
      if (synchronous_ && !port.acknowledge()) break;
      transfer.done = true;
      break;
    }
    // In place a block is written over the one that goes to the same rank: a slice that has not been sent yet is kept.
    if (in_place_ && room_.out[static_cast<size_t>(&transfer - room_.in.data())].slices <= transfer.slices) break;
    const SliceHead expected = head(transfer);
    const std::byte* payload = nullptr;
    std::byte* target = transfer.to + transfer.moved;
    const Arrival arrival = port.into_place() ? port.receive_into(expected, target) : port.receive(expected, &payload);
    if (arrival == Arrival::none) break;
    if (arrival != Arrival::here) {
      result_ = arrival == Arrival::broken ? blocked_on_broken_link(*port.broken()) : stop_for(port, expected);
      return Step::stopped;
    }
    if (payload != nullptr && expected.bytes > 0) copy_bytes(target, payload, expected.bytes, false);
    if (!port.still_lent()) {
      result_ = blocked_on_broken_link(*port.broken());
      return Step::stopped;
    }
    port.release(expected);
    transfer.moved += expected.bytes;
    ++transfer.slices;
    step = Step::moved;
  }
  return step;
}

// What has come is not what was expected: a message of another size, or another operation.
Progress ExchangeTask::stop_for(const ReceivePort& port, const SliceHead& expected) {
  const SliceHead found = port.head();
  if (found.sequence == expected.sequence && found.slice == expected.slice && found.digest == expected.digest &&
      found.total != expected.total) {
    return fail(rondeMismatch,
                fmt::format("rank {} sends {} bytes to rank {}, which expects {} bytes from it: counts of "
                            "the two must agree",
                            port.peer(), found.total, context().rank, expected.total));
  }
  return blocked_on_mismatch(port.peer(), found.sequence, found.digest);
}

SliceHead ExchangeTask::head(const Transfer& transfer) const {
  const size_t bytes = std::min(slice_bytes_, transfer.bytes - transfer.moved);
  return {transfer.number, digest(), transfer.slices, static_cast<uint32_t>(bytes), transfer.bytes};
}

// What is sent from the caller's memory must have left it; a message of a send, have been taken.
bool ExchangeTask::is_over(const Transfer& transfer) const {
  if (!transfer.done || transfer.out == nullptr) return transfer.done;
  if (synchronous_) return transfer.next != nullptr || transfer.out->taken();
  return transfer.out->idle();
}

}  // namespace ronde
