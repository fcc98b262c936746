#include "runtime/window_task.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <type_traits>

namespace ronde {

using schedule::Range;
using schedule::WindowAction;

namespace {

// What differs between the two: the schedule's arguments, and which slots of a window it uses.
template <typename Schedule>
struct WindowOf;

template <>
struct WindowOf<schedule::OneShot> {
  static schedule::OneShot schedule(const OperationContext&, size_t pieces) { return schedule::OneShot(pieces); }
  static std::byte* slot(Segment& segment, size_t number) { return segment.one_shot(number); }
  static uint32_t& used_slots(NodeWindows& windows) { return windows.one_shot_pieces; }
};

template <>
struct WindowOf<schedule::TwoShot> {
  static schedule::TwoShot schedule(const OperationContext& context, size_t pieces) {
    return {context.nranks, context.rank, pieces};
  }
  static std::byte* slot(Segment& segment, size_t number) { return segment.piece(number); }
  static uint32_t& used_slots(NodeWindows& windows) { return windows.two_shot_pieces; }
};

}  // namespace

void WindowTaskBase::ring_all() const {
  for (int rank = 0; rank < context().nranks; ++rank) {
    if (rank != context().rank) windows_.peers[static_cast<size_t>(rank)].ringer.ring();
  }
}

bool WindowTaskBase::shows_other_operation(int peer) const {
  const OperationLine& line = line_of(peer);
  const uint32_t theirs = observe(line.sequence);
  if (theirs == sequence()) return line.digest != digest();
  return reached(theirs, sequence());  // it is past this operation without having taken part in it
}

Progress WindowTaskBase::wait_for(int peer, bool moved) {
  if (shows_other_operation(peer)) return blocked_on_line(peer);
  return blocked_on(waits_for_rank(peer), moved);
}

Progress WindowTaskBase::blocked_on_line(int peer) {
  const OperationLine& line = line_of(peer);
  return blocked_on_mismatch(peer, observe(line.sequence), line.digest);
}

// ---- Line ----------------------------------------------------------------------------------------------------------

// The line of the operation before the last is free: this rank has ended the last one, so everybody had begun it, so
// everybody had ended the one before and reads its lines no more.
void LineTask::publish_line() {
  OperationLine& line = line_of(context().rank);
  line.digest = digest();
  if (args().count > 0) std::memcpy(line.payload.data(), args().send, args().bytes());
  publish(line.sequence, sequence());
  ring_all();
  published_ = true;
}

Progress LineTask::advance() {
  if (!published_) publish_line();
  for (; heard_ < context().nranks; ++heard_) {
    const OperationLine& line = line_of(heard_);
    if (observe(line.sequence) != sequence()) return wait_for(heard_, false);
    if (line.digest != digest()) return blocked_on_line(heard_);
  }
  const auto nranks = static_cast<size_t>(context().nranks);
  std::array<ReduceSource, plan::kMaxWindowRanks> sources;
  for (size_t rank = 0; rank < nranks; ++rank) {
    sources[rank] = {line_of(static_cast<int>(rank)).payload.data(), Content::input};
  }
  const ReduceTarget target{args().receive, Content::final, false};
  reduce(reduction_, {sources.data(), nranks}, {&target, 1}, args().count);
  const size_t bytes = args().bytes();
  windows_.sent += bytes * (nranks - 1);
  windows_.received += bytes * (nranks - 1);
  windows_.lines += (sizeof(OperationLine) - OperationLine::kPayloadBytes) * (nranks - 1);
  return Progress::done;
}

// ---- Windows -------------------------------------------------------------------------------------------------------

template <typename Schedule>
WindowTask<Schedule>::WindowTask(const OperationContext& context, const OperationArgs& args, uint32_t sequence,
                                 const Reduction& reduction, size_t piece_bytes, NodeWindows& windows)
    : WindowTaskBase(
          context, args, sequence,
          std::is_same_v<Schedule, schedule::OneShot> ? plan::Algorithm::one_shot : plan::Algorithm::two_shot,
          reduction, windows),
      element_bytes_(element_bytes(args.type)),
      piece_count_(piece_bytes / element_bytes_),
      pieces_(schedule::slice_rounds(args.count, piece_count_)),
      schedule_(WindowOf<Schedule>::schedule(context, pieces_)),
      streaming_(args.bytes() >= plan::kStreamingBytes),
      step_(schedule_.step(0)) {}

template <typename Schedule>
Progress WindowTask<Schedule>::advance() {
  bool moved = false;
  while (next_ < schedule_.steps()) {
    if (!run_step(moved)) return result_;
    moved = true;
    heard_ = 0;
    if (++next_ < schedule_.steps()) step_ = schedule_.step(next_);
  }
  finish();
  return Progress::done;
}

template <typename Schedule>
bool WindowTask<Schedule>::run_step(bool moved) {
  switch (step_.action) {
    case WindowAction::publish: publish_piece(); return true;
    case WindowAction::combine:
      if (!await_published(moved)) return false;
      combine_piece();
      return true;
    case WindowAction::fetch:
      if (!await(step_.peer, segment_of(step_.peer).words().combined, moved)) return false;
      fetch_part();
      return true;
  }
  return false;
}

template <typename Schedule>
bool WindowTask<Schedule>::await(int peer, const SharedCounter& counter, bool moved) {
  const uint32_t wanted = windows_.pieces + static_cast<uint32_t>(step_.piece) + 1;
  if (reached(observe(counter.value), wanted)) return true;
  result_ = wait_for(peer, moved);
  return false;
}

template <typename Schedule>
bool WindowTask<Schedule>::await_published(bool moved) {
  for (; heard_ < context().nranks; ++heard_) {
    if (heard_ == context().rank) continue;
    if (!await(heard_, segment_of(heard_).words().published, moved)) return false;
    if (step_.piece == 0 && line_of(heard_).digest != digest()) {
      result_ = blocked_on_line(heard_);
      return false;
    }
  }
  return true;
}

// Copies what others need of the piece into the own window.
template <typename Schedule>
void WindowTask<Schedule>::publish_piece() {
  const size_t bytes = piece_range().count * element_bytes_;
  std::byte* window = window_of(context().rank);
  if (step_.whole) {
    copy_bytes(window, input(), bytes, false);
  } else {
    const Range own = part_of(context().rank);
    const size_t own_begin = own.offset * element_bytes_;
    const size_t own_end = own.end() * element_bytes_;
    copy_bytes(window, input(), own_begin, false);
    copy_bytes(window + own_end, input() + own_end, bytes - own_end, false);
  }
  if (step_.piece == 0) {  // the line becomes visible with the piece
    OperationLine& line = line_of(context().rank);
    line.digest = digest();
    publish(line.sequence, sequence());
    windows_.lines += sizeof(OperationLine) * (static_cast<size_t>(context().nranks) - 1);
  }
  publish(segment_of(context().rank).words().published.value, windows_.pieces + static_cast<uint32_t>(step_.piece) + 1);
  ring_all();
}

template <typename Schedule>
void WindowTask<Schedule>::combine_piece() {
  const auto nranks = static_cast<size_t>(context().nranks);
  const Range part = step_.whole ? Range{0, piece_range().count} : part_of(context().rank);
  const size_t offset = part.offset * element_bytes_;
  std::array<ReduceSource, plan::kMaxWindowRanks> sources;
  for (size_t rank = 0; rank < nranks; ++rank) {
    const bool own = static_cast<int>(rank) == context().rank;
    sources[rank] = {own ? input() + offset : window_of(static_cast<int>(rank)) + offset, Content::input};
  }
  std::array<ReduceTarget, 2> targets{};
  targets[0] = {output() + offset, Content::final, streaming_};
  if (!step_.whole) targets[1] = {window_of(context().rank) + offset, Content::final, false};
  const size_t target_number = step_.whole ? 1 : 2;
  reduce(reduction_, {sources.data(), nranks}, {targets.data(), target_number}, part.count);
  windows_.received += part.count * element_bytes_ * (nranks - 1);
  if (step_.whole) {
    windows_.sent += part.count * element_bytes_ * (nranks - 1);
    return;
  }
  windows_.sent += (piece_range().count - part.count) * element_bytes_ + part.count * element_bytes_ * (nranks - 1);
  publish(segment_of(context().rank).words().combined.value, windows_.pieces + static_cast<uint32_t>(step_.piece) + 1);
  ring_all();
}

template <typename Schedule>
void WindowTask<Schedule>::fetch_part() {
  const Range part = part_of(step_.peer);
  const size_t offset = part.offset * element_bytes_;
  copy_bytes(output() + offset, window_of(step_.peer) + offset, part.count * element_bytes_, streaming_);
  windows_.received += part.count * element_bytes_;
}

template <typename Schedule>
Range WindowTask<Schedule>::piece_range() const {
  return schedule::slice_of({0, args().count}, piece_count_, step_.piece);
}

template <typename Schedule>
Range WindowTask<Schedule>::part_of(int rank) const {
  return schedule::even_part(piece_range().count, context().nranks, rank, kCacheLine / element_bytes_);
}

template <typename Schedule>
std::byte* WindowTask<Schedule>::window_of(int rank) const {
  const size_t number = WindowOf<Schedule>::used_slots(windows_) + step_.piece;
  return WindowOf<Schedule>::slot(segment_of(rank), number % Schedule::kSlots);
}

template <typename Schedule>
const std::byte* WindowTask<Schedule>::input() const {
  return static_cast<const std::byte*>(args().send) + piece_range().offset * element_bytes_;
}

template <typename Schedule>
std::byte* WindowTask<Schedule>::output() const {
  return static_cast<std::byte*>(args().receive) + piece_range().offset * element_bytes_;
}

template <typename Schedule>
void WindowTask<Schedule>::finish() {
  windows_.pieces += static_cast<uint32_t>(pieces_);
  uint32_t& used = WindowOf<Schedule>::used_slots(windows_);
  used = static_cast<uint32_t>((used + pieces_) % Schedule::kSlots);
}

template class WindowTask<schedule::OneShot>;
template class WindowTask<schedule::TwoShot>;

}  // namespace ronde
