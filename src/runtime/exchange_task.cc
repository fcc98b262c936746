#include "runtime/exchange_task.h"

#include <fmt/format.h>

#include <algorithm>

namespace ronde {

ExchangeTask::ExchangeTask(const OperationContext& context, const OperationArgs& args, uint32_t sequence,
                           const plan::Choice& choice, ExchangeRoom& room)
    : OperationTask(context, args, sequence, choice.algorithm),
      room_(room),
      slice_bytes_(choice.cut_bytes),
      in_place_(args.what == Collective::all_to_all && args.send == args.receive) {
  plan();
  keep_own_block();
}

// In the order of schedule::Exchange: every rank has another partner in each round.
void ExchangeTask::plan() {
  room_.out.clear();
  room_.in.clear();
  const size_t size = element_bytes(args().type);
  const int nranks = context().nranks;
  for (int round = 0; round < nranks; ++round) {
    const int peer = (round + nranks - context().rank) % nranks;
    if (peer == context().rank) continue;
    if (const auto block = block_to(args(), context().rank, peer)) {
      Transfer& transfer = room_.out.emplace_back();
      transfer.peer = peer;
      transfer.bytes = block->count * size;
      if (transfer.bytes > 0) transfer.from = static_cast<const std::byte*>(args().send) + block->offset * size;
    }
    if (const auto block = block_from(args(), context().rank, peer)) {
      Transfer& transfer = room_.in.emplace_back();
      transfer.peer = peer;
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

Progress ExchangeTask::advance() {
  bool moved = false;
  bool done = true;
  const Transfer* open = nullptr;
  size_t open_number = 0;
  const auto note = [&](const Transfer& transfer, Step step) {
    moved |= step == Step::moved;
    if (transfer.done) return;
    done = false;
    open = &transfer;
    ++open_number;
  };
  for (Transfer& transfer : room_.in) {
    if (transfer.done) continue;
    const Step step = receive(transfer);
    if (step == Step::stopped) return result_;
    note(transfer, step);
  }
  for (Transfer& transfer : room_.out) {
    if (transfer.out != nullptr) transfer.out->advance();
    const Step step = send(transfer);
    if (step == Step::stopped) return result_;
    note(transfer, step);
  }
  if (moved) return Progress::moved;
  if (done && all_left()) return Progress::done;
  return blocked_on(open_number == 1 ? waits_for_rank(open->peer) : kWaitsForAny, false);
}

// Sends what there is room for.
ExchangeTask::Step ExchangeTask::send(Transfer& transfer) {
  if (transfer.out == nullptr) {
    const Result<SendPort*> link = room_.links->send_to(transfer.peer);
    if (!link.ok()) {
      result_ = blocked_on_broken_link(link.status());
      return Step::stopped;
    }
    transfer.out = *link;
    if (transfer.out == nullptr) return Step::waits;
  }
  Step step = Step::waits;
  while (!transfer.done) {
    const SliceHead slice = head(transfer);
    if (!send_slice(transfer, slice)) break;
    transfer.moved += slice.bytes;
    ++transfer.slices;
    transfer.done = transfer.moved == transfer.bytes;
    step = Step::moved;
  }
  if (step == Step::waits && transfer.out->broken() != nullptr && !transfer.out->idle()) {
    result_ = blocked_on_broken_link(*transfer.out->broken());
    return Step::stopped;
  }
  return step;
}

bool ExchangeTask::send_slice(Transfer& transfer, const SliceHead& head) const {
  const std::byte* payload = transfer.from + transfer.moved;
  if (transfer.out->by_reference() && !in_place_) return transfer.out->send_by_reference(head, payload);
  std::byte* slot = transfer.out->acquire();
  if (slot == nullptr) return false;
  if (head.bytes > 0) copy_bytes(slot, payload, head.bytes, false);
  transfer.out->commit(head);
  return true;
}

ExchangeTask::Step ExchangeTask::receive(Transfer& transfer) {
  if (transfer.in == nullptr) {
    const Result<ReceivePort*> link = room_.links->receive_from(transfer.peer);
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
    port.release(expected);
    transfer.moved += expected.bytes;
    ++transfer.slices;
    transfer.done = transfer.moved == transfer.bytes;
    step = Step::moved;
  }
  return step;
}

// What has come is not what was expected: a message of another size, or another operation.
Progress ExchangeTask::stop_for(const ReceivePort& port, const SliceHead& expected) {
  const SliceHead found = port.head();
  if (found.sequence == expected.sequence && found.digest == expected.digest && found.total != expected.total) {
    return fail(rondeMismatch, fmt::format("rank {} sends {} bytes to rank {}, which expects {} bytes from it: counts of "
                                           "the two must agree",
                                           port.peer(), found.total, context().rank, expected.total));
  }
  return blocked_on_mismatch(port.peer(), found.sequence, found.digest);
}

SliceHead ExchangeTask::head(const Transfer& transfer) const {
  const size_t bytes = std::min(slice_bytes_, transfer.bytes - transfer.moved);
  return {sequence(), digest(), transfer.slices, static_cast<uint32_t>(bytes), transfer.bytes};
}

// Everything that is sent from the caller's memory must have left it.
bool ExchangeTask::all_left() const {
  return std::all_of(room_.out.begin(), room_.out.end(),
                     [](const Transfer& transfer) { return transfer.out->idle(); });
}

}  // namespace ronde
