#include "runtime/link_task.h"

#include <algorithm>

namespace ronde {

using schedule::LinkStep;
using schedule::Range;

namespace {

int steps_of(const LinkSchedule& schedule) {
  return std::visit([](const auto& one) { return one.steps(); }, schedule);
}

LinkStep step_of(const LinkSchedule& schedule, int number) {
  return std::visit([number](const auto& one) { return one.step(number); }, schedule);
}

bool partials_are_inputs(const LinkSchedule& schedule) {
  return std::visit([](const auto& one) { return one.kPartialsAreInputs; }, schedule);
}

bool chunk_per_rank(const LinkSchedule& schedule) {
  return std::visit([](const auto& one) { return one.kChunkPerRank; }, schedule);
}

// An all-reduce has no blocks of its own: its buffer is cut into one chunk a rank. Parts start on cache lines if it
// does.
bool cuts_evenly(const OperationArgs& args, const LinkSchedule& schedule) {
  return chunk_per_rank(schedule) && !schedule::has_agreed_blocks(args.what);
}

Range even_chunk(const OperationArgs& args, int nranks, int chunk) {
  return schedule::even_part(args.count, nranks, chunk, kCacheLine / element_bytes(args.type));
}

size_t number_of_slices(const OperationArgs& args, const LinkSchedule& schedule, int nranks, size_t slice_count) {
  const size_t longest = cuts_evenly(args, schedule) ? even_chunk(args, nranks, 0).count : longest_block(args, nranks);
  return schedule::slice_rounds(longest, slice_count);
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
      streaming_(all_blocks(args, context.nranks) * element_bytes_ >= plan::kStreamingBytes),
      lends_(all_blocks(args, context.nranks) * element_bytes_ > plan::kCopiedBytes),
      moves_(!schedule::reduces(args.what) && args.what != Collective::barrier),
      input_is_partial_(reduction.partial == args.type && !reduction.multiplies),
      partials_are_inputs_(partials_are_inputs(schedule)),
      order_(steps_of(schedule), number_of_slices(args, schedule, context.nranks, slice_count_),
             static_cast<size_t>(choice.depth)) {
  std::fill(links_.sent.begin(), links_.sent.end(), 0);
  std::fill(links_.received.begin(), links_.received.end(), 0);
  load_step();
  if (links_.pairs != nullptr) phase_ = Phase::links;
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
      case Phase::links: outcome = find_links(); break;
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

// Asks for all links that the schedule uses, and waits until they are there.
LinkTask::Outcome LinkTask::find_links() {
  int missing = -1;
  for (int number = 0; number < steps_of(schedule_) && !order_.done(); ++number) {
    const LinkStep step = step_of(schedule_, number);
    for (int i = 0; i < step.from.count + step.to.count; ++i) {
      const bool outgoing = i >= step.from.count;
      const int position = outgoing ? peer_at(step.to, i - step.from.count) : peer_at(step.from, i);
      const Result<bool> here = has_link(links_, position, outgoing);
      if (!here.ok()) {
        result_ = blocked_on_broken_link(here.status());
        return Outcome::wait;
      }
      if (!*here && missing < 0) missing = position;
    }
  }
  if (missing >= 0) {  // named for those who ask why it takes long; whatever link comes next wakes this rank
    result_ = blocked_on(waits_for_rank(links_.order[static_cast<size_t>(missing)]), false);
    return Outcome::wait;
  }
  load_step();
  return Outcome::go_on;
}

// Waits until a slice has come from each peer of the step.
LinkTask::Outcome LinkTask::receive() {
  while (done_in_phase_ < step_.from.count) {
    const int position = peer_at(step_.from, done_in_phase_);
    const auto at = static_cast<size_t>(position);
    ReceivePort& port = *links_.receive[at];
    const SliceHead expected = head(links_.received[at], receives_);
    const Arrival arrival = receives_into_place()
                                ? port.receive_into(expected, output_)
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
    if (!refers(port)) {
      target_ = port.acquire();
      if (target_ == nullptr) return wait_for_rank(position);
    }
  }
  compute();
  for (int i = 0; i < step_.from.count; ++i) {
    ReceivePort& port = *links_.receive[static_cast<size_t>(peer_at(step_.from, i))];
    if (port.still_lent()) continue;
    result_ = blocked_on_broken_link(*port.broken());
    return Outcome::wait;
  }
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
  if (count_ == 0) return;
  const bool input_as_it_is = step_.from.count == 0 && (sends_ == Content::input || input_is_partial_);
  if (moves_ || !step_.add_input || (input_as_it_is && !step_.keep)) {
    move();
  } else {
    combine();
  }
}

// Hands on what is there as it is.
void LinkTask::move() {
  const std::byte* source = step_.from_output ? output_ : input_;
  if (step_.from.count > 0) source = receives_into_place() ? output_ : links_.slots[0];
  const size_t bytes = count_ * element_bytes_;
  if (target_ != nullptr) {
    copy_bytes(target_, source, bytes, false);
    links_.send[static_cast<size_t>(peer_at(step_.to, 0))]->count_staged(bytes);
  }
  if (step_.keep && source != output_) copy_bytes(output_, source, bytes, streaming_);
}

// What is combined, in its order: inputs by position, a partial result before the input that it lacks.
size_t LinkTask::list_sources() {
  size_t number = 0;
  bool own_listed = !step_.add_input;
  const auto list_own = [&] {
    links_.sources[number++] = {input_, Content::input};
    own_listed = true;
  };
  const int first_wrapped = context().nranks - step_.from.first;  // the peers from here on have lower positions
  for (int i = 0; i < step_.from.count; ++i) {
    // Lower positions first: they come last in `from` where it wraps.
    const int at = first_wrapped < step_.from.count ? (i + first_wrapped) % step_.from.count : i;
    if (!own_listed && receives_ != Content::partial && peer_at(step_.from, at) > links_.position) list_own();
    links_.sources[number++] = {links_.slots[static_cast<size_t>(at)], receives_};
  }
  if (!own_listed) list_own();
  return number;
}

void LinkTask::combine() {
  const bool referenced = step_.to.count > 0 && target_ == nullptr;
  const size_t number = list_sources();
  std::array<ReduceTarget, 2> targets{};
  size_t target_number = 0;
  if (target_ != nullptr) targets[target_number++] = {target_, sends_, false};
  if (step_.keep) {
    targets[target_number++] = {output_, Content::final, streaming_ && !referenced};
  } else if (referenced) {
    // The output's place holds the partial result meanwhile.
    targets[target_number++] = {output_, Content::partial, false};
  }
  reduce(reduction_, {links_.sources.data(), number}, {targets.data(), target_number}, count_);
}

LinkTask::Outcome LinkTask::send() {
  while (done_in_phase_ < step_.to.count) {
    const int position = peer_at(step_.to, done_in_phase_);
    const auto at = static_cast<size_t>(position);
    SendPort& port = *links_.send[at];
    const SliceHead slice = head(links_.sent[at], sends_);
    if (target_ != nullptr) {
      port.commit(slice);
    } else if (refers(port)) {
      if (!port.send_by_reference(slice, reference_source())) return wait_for_rank(position);
    } else {  // one of several peers: each gets a copy of the result
      std::byte* slot = port.acquire();
      if (slot == nullptr) return wait_for_rank(position);
      copy_bytes(slot, reference_source(), slice.bytes, false);
      port.count_staged(slice.bytes);
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
  for (SendPort* port : links_.send) {
    if (port == nullptr || port->idle()) continue;
    result_ = port->broken() != nullptr ? blocked_on_broken_link(*port->broken()) : blocked_on(kWaitsForAny, false);
    return Outcome::wait;
  }
  result_ = done();
  return Outcome::ended;
}

void LinkTask::load_step() {
  done_in_phase_ = 0;
  if (order_.done()) {
    phase_ = Phase::flush;
    return;
  }
  phase_ = Phase::receive;
  step_ = step_of(schedule_, order_.step());
  const Block whole = block(step_.chunk);
  const Range slice = schedule::slice_of({0, whole.count}, slice_count_, order_.slice());
  count_ = slice.count;
  input_ = args().send != nullptr
               ? static_cast<const std::byte*>(args().send) + (whole.input + slice.offset) * element_bytes_
               : nullptr;
  output_ = whole.has_output && args().receive != nullptr
                ? static_cast<std::byte*>(args().receive) + (whole.output + slice.offset) * element_bytes_
                : nullptr;
  const Content given = reduction_.has_own_factor() ? Content::ready : Content::input;
  const Content unfinished = partials_are_inputs_ ? given : Content::partial;
  receives_ = step_.receives_final ? Content::final : unfinished;
  sends_ = step_.sends_final ? Content::final : unfinished;
}

Block LinkTask::block(int chunk) const {
  if (cuts_evenly(args(), schedule_)) {
    const Range part = even_chunk(args(), context().nranks, chunk);
    return {part.count, part.offset, part.offset, true};
  }
  // Chunks are numbered by position.
  const int number = chunk_per_rank(schedule_) ? links_.order[static_cast<size_t>(chunk)] : 0;
  return block_of(args(), context().rank, number);
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
  if (step_.from_output) return output_;
  if (step_.from.count == 0) return moves_ || sends_ == Content::input || input_is_partial_ ? input_ : nullptr;
  return step_.keep || partial_bytes_ == element_bytes_ ? output_ : nullptr;
}

// Whether what this step sends goes to that port from where it lies.
bool LinkTask::refers(const SendPort& port) const {
  const void* source = reference_source();
  if (source == nullptr) return false;
  return port.by_reference() || (lends_ && port.lends(source, content_bytes(sends_)));
}

size_t LinkTask::content_bytes(Content content) const {
  return count_ * (content == Content::partial ? partial_bytes_ : element_bytes_);
}

SliceHead LinkTask::head(uint32_t slice, Content content) const {
  return {sequence(), digest(), slice, static_cast<uint32_t>(content_bytes(content))};
}

int LinkTask::peer_at(const schedule::Peers& peers, int index) const {
  return (peers.first + index) % context().nranks;
}

}  // namespace ronde
