#include "runtime/link_task.h"

#include <algorithm>

namespace ronde {

using schedule::LinkStep;
using schedule::Range;

namespace {

// The chunk of a step, as a range of the operation's elements. Parts start on cache lines if the buffer does.
Range chunk_range(const LinkSchedule& schedule, int nranks, size_t count, size_t element_bytes, int chunk) {
  if (!schedule.chunk_per_rank()) return {0, count};
  return schedule::even_part(count, nranks, chunk, kCacheLine / element_bytes);
}

size_t number_of_slices(const LinkSchedule& schedule, int nranks, size_t count, size_t element_bytes,
                        size_t slice_count) {
  return schedule::slice_rounds(chunk_range(schedule, nranks, count, element_bytes, 0).count, slice_count);
}

}  // namespace

LinkTask::LinkTask(const OperationContext& context, const OperationArgs& args, uint32_t sequence,
                   const Reduction& reduction, const plan::Choice& choice, const LinkSchedule& schedule, LinkSet& links)
    : OperationTask(context, args, sequence, choice.algorithm),
      schedule_(schedule),
      links_(links),
      reduction_(reduction),
      element_bytes_(element_bytes(args.type)),
      partial_bytes_(element_bytes(reduction.partial)),
      slice_count_(choice.cut_bytes / std::max(element_bytes_, partial_bytes_)),
      streaming_(args.bytes() >= plan::kStreamingBytes),
      input_is_partial_(reduction.partial == args.type && !reduction.multiplies),
      order_(schedule.steps(), number_of_slices(schedule, context.nranks, args.count, element_bytes_, slice_count_),
             static_cast<size_t>(choice.depth)) {
  std::fill(links_.sent.begin(), links_.sent.end(), 0);
  std::fill(links_.received.begin(), links_.received.end(), 0);
  load_step();
}

OperationProgress LinkTask::progress() const {
  return {static_cast<uint32_t>(order_.pairs_done()), static_cast<uint32_t>(order_.pairs())};
}

Progress LinkTask::advance() {
  for (SendPort* port : links_.send) {
    if (port != nullptr) port->advance();
  }
  bool moved = false;
  for (;;) {
    Outcome outcome = Outcome::go_on;
    switch (phase_) {
      case Phase::receive: outcome = receive(); break;
      case Phase::acquire: outcome = acquire(); break;
      case Phase::send: outcome = send(); break;
      case Phase::flush: outcome = flush(); break;
    }
    if (outcome == Outcome::go_on) {
      moved = true;
      continue;
    }
    return outcome == Outcome::wait && moved ? Progress::moved : result_;
  }
}

// Waits until a slice has come from each peer of the step.
LinkTask::Outcome LinkTask::receive() {
  while (done_in_phase_ < step_.from.count) {
    const int position = peer_at(step_.from, done_in_phase_);
    const auto at = static_cast<size_t>(position);
    ReceivePort& port = *links_.receive[at];
    const SliceHead expected = head(links_.received[at], receives_);
    const Arrival arrival = receives_into_place()
                                ? port.receive_into(expected, output())
                                : port.receive(expected, &links_.slots[static_cast<size_t>(done_in_phase_)]);
    if (arrival == Arrival::none) return wait_for_rank(position);
    if (arrival == Arrival::broken) {
      result_ = blocked_on_broken_link(*port.broken());
      return Outcome::wait;
    }
    if (arrival == Arrival::unexpected) {
      const SliceHead found = port.head();
      result_ = blocked_on_mismatch(port.peer(), found.sequence, found.digest);
      return Outcome::wait;
    }
    ++done_in_phase_;
  }
  phase_ = Phase::acquire;
  return Outcome::go_on;
}

// Gets memory of the outgoing link, if the result has to be written there; then combines, straight into it.
LinkTask::Outcome LinkTask::acquire() {
  target_ = nullptr;
  if (step_.to.count == 1) {
    const int position = peer_at(step_.to, 0);
    SendPort& port = *links_.send[static_cast<size_t>(position)];
    if (!port.by_reference() || reference_source() == nullptr) {
      target_ = port.acquire();
      if (target_ == nullptr) return wait_for_rank(position);
    }
  }
  compute();
  for (int i = 0; i < step_.from.count; ++i) {
    const auto at = static_cast<size_t>(peer_at(step_.from, i));
    links_.receive[at]->release(head(links_.received[at], receives_));
    ++links_.received[at];
  }
  phase_ = Phase::send;
  done_in_phase_ = 0;
  return Outcome::go_on;
}

void LinkTask::compute() {
  if (range_.count == 0) return;
  if (step_.from.count > 0 && !step_.add_input) {
    compute_received_final();
  } else {
    compute_reduced();
  }
}

void LinkTask::compute_received_final() {
  const size_t bytes = range_.count * element_bytes_;
  const std::byte* source = receives_into_place() ? output() : links_.slots[0];
  if (target_ != nullptr) copy_bytes(target_, source, bytes, false);
  if (source != output()) copy_bytes(output(), source, bytes, streaming_);
}

void LinkTask::compute_reduced() {
  const bool referenced = step_.to.count > 0 && target_ == nullptr;
  if (step_.from.count == 0) {
    if (target_ == nullptr) return;  // the own input is sent from where it is
    if (sends_ == Content::input || input_is_partial_) {
      copy_bytes(target_, input(), range_.count * element_bytes_, false);
      return;
    }
  }
  size_t number = 0;
  links_.sources[number++] = {input(), Content::input};
  for (int i = 0; i < step_.from.count; ++i) {
    links_.sources[number++] = {links_.slots[static_cast<size_t>(i)], receives_};
  }
  std::array<ReduceTarget, 2> targets{};
  size_t target_number = 0;
  if (target_ != nullptr) targets[target_number++] = {target_, sends_, false};
  if (step_.keep) {
    targets[target_number++] = {output(), Content::final, streaming_ && !referenced};
  } else if (referenced) {
    // The output's place holds the partial result meanwhile.
    targets[target_number++] = {output(), Content::partial, false};
  }
  reduce(reduction_, {links_.sources.data(), number}, {targets.data(), target_number}, range_.count);
}

LinkTask::Outcome LinkTask::send() {
  while (done_in_phase_ < step_.to.count) {
    const int position = peer_at(step_.to, done_in_phase_);
    const auto at = static_cast<size_t>(position);
    SendPort& port = *links_.send[at];
    const SliceHead slice = head(links_.sent[at], sends_);
    if (target_ != nullptr) {
      port.commit(slice);
    } else if (port.by_reference()) {
      if (!port.send_by_reference(slice, reference_source())) return wait_for_rank(position);
    } else {  // one of several peers: each gets a copy of the result
      std::byte* slot = port.acquire();
      if (slot == nullptr) return wait_for_rank(position);
      copy_bytes(slot, reference_source(), slice.bytes, false);
      port.commit(slice);
    }
    ++links_.sent[at];
    ++done_in_phase_;
  }
  order_.next();
  load_step();
  return Outcome::go_on;
}

// Everything that is sent from the caller's memory must have left it.
LinkTask::Outcome LinkTask::flush() {
  for (const SendPort* port : links_.send) {
    if (port == nullptr || port->idle()) continue;
    result_ = port->broken() != nullptr ? blocked_on_broken_link(*port->broken()) : blocked_on(kWaitsForAny, false);
    return Outcome::wait;
  }
  result_ = Progress::done;
  return Outcome::ended;
}

void LinkTask::load_step() {
  done_in_phase_ = 0;
  if (order_.done()) {
    phase_ = Phase::flush;
    return;
  }
  phase_ = Phase::receive;
  step_ = schedule_.step(order_.step());
  const Range chunk = chunk_range(schedule_, context().nranks, args().count, element_bytes_, step_.chunk);
  range_ = schedule::slice_of(chunk, slice_count_, order_.slice());
  const Content unfinished = schedule_.partials_are_inputs() ? Content::input : Content::partial;
  receives_ = step_.receives_final ? Content::final : unfinished;
  sends_ = step_.sends_final ? Content::final : unfinished;
}

LinkTask::Outcome LinkTask::wait_for_rank(int position) {
  const auto at = static_cast<size_t>(position);
  const SendPort* out = links_.send[at];
  if (phase_ != Phase::receive && out->broken() != nullptr) {
    result_ = blocked_on_broken_link(*out->broken());
  } else {
    result_ = blocked_on(waits_for_rank(links_.order[at]), false);
  }
  return Outcome::wait;
}

bool LinkTask::receives_into_place() const {
  return receives_ == Content::final && step_.keep && step_.from.count == 1 &&
         links_.receive[static_cast<size_t>(peer_at(step_.from, 0))]->into_place();
}

// Where, in the caller's buffers, what this step sends lies after compute(); null if it lies in none of them.
const void* LinkTask::reference_source() const {
  if (step_.from.count == 0) {
    return sends_ == Content::input || input_is_partial_ ? static_cast<const void*>(input()) : nullptr;
  }
  if (step_.keep || partial_bytes_ == element_bytes_) return output();
  return nullptr;
}

size_t LinkTask::content_bytes(Content content) const {
  return range_.count * (content == Content::partial ? partial_bytes_ : element_bytes_);
}

SliceHead LinkTask::head(uint32_t slice, Content content) const {
  return {sequence(), digest(), slice, static_cast<uint32_t>(content_bytes(content))};
}

int LinkTask::peer_at(const schedule::Peers& peers, int index) const {
  return (peers.first + index) % context().nranks;
}

const std::byte* LinkTask::input() const {
  return static_cast<const std::byte*>(args().send) + range_.offset * element_bytes_;
}

std::byte* LinkTask::output() const { return static_cast<std::byte*>(args().receive) + range_.offset * element_bytes_; }

}  // namespace ronde
