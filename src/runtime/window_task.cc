#include "runtime/window_task.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <type_traits>

namespace ronde {

using schedule::Range;
using schedule::WindowAction;
using schedule::WindowParts;

namespace {

// What differs between them: which slots of a window they use, and how a piece is cut.
template <typename Schedule>
constexpr bool kUsesSmallSlots = std::is_same_v<Schedule, schedule::OneShot>;
template <typename Schedule>
constexpr bool kInBlocks = Schedule::kCollective != Collective::all_reduce;

template <typename Schedule>
constexpr plan::Algorithm kAlgorithm = kUsesSmallSlots<Schedule> ? plan::Algorithm::one_shot
                                       : kInBlocks<Schedule>     ? plan::Algorithm::direct
                                                                 : plan::Algorithm::two_shot;

template <typename Schedule>
std::byte* slot_of(Segment& segment, size_t number) {
  static_assert(Schedule::kSlots ==
                (kUsesSmallSlots<Schedule> ? SegmentLayout::kOneShotSlots : SegmentLayout::kPieceSlots));
  return kUsesSmallSlots<Schedule> ? segment.one_shot(number) : segment.piece(number);
}

// Whether the parts of the send buffer lie behind each other, so that others know where each is.
bool blocks_are_in_line(const OperationArgs& args) {
  if (args.what != Collective::reduce_scatter || !args.uneven) return true;
  size_t end = 0;
  for (const Range& block : args.blocks->send) {
    if (block.count > 0 && block.offset != end) return false;
    end += block.count;
  }
  return true;
}

template <typename Schedule>
uint32_t& used_slots(NodeWindows& windows) {
  return kUsesSmallSlots<Schedule> ? windows.one_shot_pieces : windows.two_shot_pieces;
}

}  // namespace

void WindowTaskBase::ring_all() const {
  for (int rank = 0; rank < context().nranks; ++rank) {
    if (rank != context().rank) windows_.peers[static_cast<size_t>(rank)].ringer.ring();
  }
}

// As others need it: a factor that is this rank's own is applied before they see it.
void WindowTaskBase::publish_input(std::byte* window, const std::byte* input, size_t bytes) {
  windows_.staged += bytes;
  if (!reduction_.has_own_factor()) return copy_bytes(window, input, bytes, false);
  const ReduceSource source{input, Content::input};
  const ReduceTarget target{window, Content::ready, false};
  reduce(reduction_, {&source, 1}, {&target, 1}, bytes / element_bytes(args().type));
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

template <typename Schedule>
WindowTask<Schedule>::WindowTask(const OperationContext& context, const OperationArgs& args, uint32_t sequence,
                                 const Reduction& reduction, size_t piece_bytes, NodeWindows& windows)
    : WindowTaskBase(context, args, sequence, kAlgorithm<Schedule>, reduction, windows),
      element_bytes_(element_bytes(args.type)),
      piece_count_(piece_bytes / element_bytes_),
      pieces_(schedule::slice_rounds(longest_block(args, context.nranks), piece_count_)),
      schedule_(context.nranks, context.rank, pieces_),
      streaming_(all_blocks(args, context.nranks) * element_bytes_ >= plan::kStreamingBytes),
      lends_(buffers_to_lend()),
      step_(schedule_.step(0)) {
  if constexpr (Schedule::kCollective == Collective::reduce_scatter) {
    for (int rank = 0; rank < context.rank; ++rank) own_offset_ += block_of(args, rank, rank).count * element_bytes_;
  }
}

template <typename Schedule>
Progress WindowTask<Schedule>::advance() {
  bool moved = false;
  while (next_ < schedule_.steps()) {
    if (!run_step(moved)) return result_;
    moved = true;
    heard_ = 0;
    if (++next_ < schedule_.steps()) step_ = schedule_.step(next_);
  }
  if (!return_what_was_lent(moved)) return result_;
  finish();
  return done();
}

template <typename Schedule>
bool WindowTask<Schedule>::run_step(bool moved) {
  switch (step_.action) {
    case WindowAction::publish: publish_piece(); return true;
    case WindowAction::combine:
      if (!await_published(moved)) return false;
      return combine_piece();
    case WindowAction::fetch: {
      const SegmentWords& words = segment_of(step_.peer).words();
      if (!await(step_.peer, step_.as_published ? words.published : words.combined, moved)) return false;
      if (step_.as_published && !check_line(step_.peer)) return false;
      return fetch_part();
    }
    case WindowAction::keep: keep_part(); return true;
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
    if (!check_line(heard_)) return false;
  }
  return true;
}

// With the first piece the line has come, too.
template <typename Schedule>
bool WindowTask<Schedule>::check_line(int peer) {
  if (step_.piece != 0) return true;
  if (line_of(peer).digest == digest()) return hear_line(peer);
  result_ = blocked_on_line(peer);
  return false;
}

// Which buffers of this rank the others may read where they lie.
template <typename Schedule>
LentBuffers WindowTask<Schedule>::buffers_to_lend() const {
  if (kUsesSmallSlots<Schedule> || windows_.arena == nullptr) return {};
  if (all_blocks(args(), context().nranks) * element_bytes_ <= plan::kCopiedBytes) return {};
  LentBuffers lent;
  // A factor of this rank's own is applied before others see the input.
  const bool as_it_is = !reduction_.has_own_factor() && blocks_are_in_line(args());
  if (as_it_is) lent.input = windows_.arena->place_of(args().send, lent_input_bytes(context().rank));
  if (!kInBlocks<Schedule>) lent.output = windows_.arena->place_of(args().receive, args().bytes());
  return lent;
}

template <typename Schedule>
size_t WindowTask<Schedule>::lent_input_bytes(int rank) const {
  const bool one_block = Schedule::kCollective == Collective::all_gather;
  const size_t count = one_block ? block_of(args(), rank, rank).count : all_blocks(args(), context().nranks);
  return count * element_bytes_;
}

// What the line tells beside the digest.
template <typename Schedule>
bool WindowTask<Schedule>::hear_line(int peer) {
  NodeWindows::Peer& found = windows_.peers[static_cast<size_t>(peer)];
  LentBuffers lent;
  std::memcpy(&lent, line_of(peer).payload.data(), sizeof lent);
  found.input = found.output = nullptr;
  if (lent.input == kNoPlace && lent.output == kNoPlace) return true;
  if (found.arena != nullptr) {
    if (lent.input != kNoPlace) found.input = found.arena->at(lent.input, lent_input_bytes(peer));
    if (lent.output != kNoPlace) found.output = found.arena->at(lent.output, args().bytes());
  }
  borrows_ = true;
  const bool all_found =
      (lent.input == kNoPlace) == (found.input == nullptr) && (lent.output == kNoPlace) == (found.output == nullptr);
  if (!all_found) result_ = blocked_on_broken_link({rondeRemoteError, "a rank names memory that it does not have"});
  return all_found;
}

// After reading, before what was read is handed on: it was still the others' to lend.
template <typename Schedule>
bool WindowTask<Schedule>::all_still_lend() {
  if (!borrows_) return true;
  for (const NodeWindows::Peer& peer : windows_.peers) {
    if (held_until_now(peer.segment->words().withdrawn.value, 0)) continue;
    result_ =
        blocked_on_broken_link({rondeRemoteError, "a rank has given up an operation whose memory this rank reads"});
    return false;
  }
  return true;
}

// The buffers of this rank are not the caller's again before all have read what they need of them.
template <typename Schedule>
bool WindowTask<Schedule>::return_what_was_lent(bool moved) {
  const bool lends = lends_.input != kNoPlace || lends_.output != kNoPlace;
  if (!borrows_ && !lends) return true;
  const uint32_t all_pieces = windows_.pieces + static_cast<uint32_t>(pieces_);
  SharedCounter& read = segment_of(context().rank).words().read;
  if (own_value(read.value) != all_pieces) {
    publish(read.value, all_pieces);
    ring_all();
  }
  if (!lends) return true;
  for (; heard_ < context().nranks; ++heard_) {
    if (reached(observe(segment_of(heard_).words().read.value), all_pieces)) continue;
    result_ = wait_for(heard_, moved);
    return false;
  }
  return true;
}

// Copies what others need of the piece into the own window.
template <typename Schedule>
void WindowTask<Schedule>::publish_piece() {
  const size_t others = static_cast<size_t>(context().nranks) - 1;
  std::byte* window = window_of(context().rank);
  const bool lends = lends_.input != kNoPlace;
  if (step_.parts == WindowParts::others) {
    for (int rank = 0; rank < context().nranks; ++rank) {
      if (rank == context().rank) continue;
      const Part part = part_of(rank);
      if (!lends) publish_input(window + part.window, input(part), part.bytes);
      windows_.sent += part.bytes;
    }
  } else {
    const Part part = step_.parts == WindowParts::all ? whole_piece() : part_of(context().rank);
    if (!lends) publish_input(window + part.window, input(part), part.bytes);
    windows_.sent += part.bytes * others;
  }
  if (step_.piece == 0) publish_line();  // it becomes visible with the piece
  publish(segment_of(context().rank).words().published.value, windows_.pieces + static_cast<uint32_t>(step_.piece) + 1);
  ring_all();
}

template <typename Schedule>
void WindowTask<Schedule>::publish_line() const {
  OperationLine& line = line_of(context().rank);
  line.digest = digest();
  std::memcpy(line.payload.data(), &lends_, sizeof lends_);
  publish(line.sequence, sequence());
  windows_.lines += sizeof(OperationLine) * (static_cast<size_t>(context().nranks) - 1);
}

template <typename Schedule>
bool WindowTask<Schedule>::combine_piece() {
  const auto nranks = static_cast<size_t>(context().nranks);
  const Part part = step_.parts == WindowParts::all ? whole_piece() : part_of(context().rank);
  std::array<ReduceSource, plan::kMaxWindowRanks> sources;
  // Where everybody combines everything the own input, too, is taken as the others see it: for the same bits.
  const bool own_is_published = step_.parts == WindowParts::all && reduction_.has_own_factor();
  for (size_t rank = 0; rank < nranks; ++rank) {
    const bool own = static_cast<int>(rank) == context().rank && !own_is_published;
    sources[rank] = own ? ReduceSource{input(part), Content::input}
                        : ReduceSource{published_by(static_cast<int>(rank), part), published_content()};
  }
  std::array<ReduceTarget, 2> targets{};
  const bool lends = lends_.output != kNoPlace;  // others read it soon: it shall stay in the caches
  const bool copies = step_.hand_out && !lends;
  targets[0] = {output(part), Content::final, streaming_ && !lends};
  if (copies) targets[1] = {window_of(context().rank) + part.window, Content::final, false};
  reduce(reduction_, {sources.data(), nranks}, {targets.data(), copies ? size_t{2} : 1}, part.bytes / element_bytes_);
  windows_.received += part.bytes * (nranks - 1);
  if (!all_still_lend()) return false;
  if (!step_.hand_out) return true;
  if (copies) windows_.staged += part.bytes;
  windows_.sent += part.bytes * (nranks - 1);
  publish(segment_of(context().rank).words().combined.value, windows_.pieces + static_cast<uint32_t>(step_.piece) + 1);
  ring_all();
  return true;
}

template <typename Schedule>
bool WindowTask<Schedule>::fetch_part() {
  const Part part = part_of(step_.peer);
  const std::byte* output_there = windows_.peers[static_cast<size_t>(step_.peer)].output;
  const bool lent = !step_.as_published && output_there != nullptr;
  copy_bytes(output(part), lent ? output_there + part.output : published_by(step_.peer, part), part.bytes, streaming_);
  windows_.received += part.bytes;
  return all_still_lend();
}

template <typename Schedule>
void WindowTask<Schedule>::keep_part() {
  const Part part = part_of(context().rank);
  if (input(part) != output(part)) copy_bytes(output(part), input(part), part.bytes, streaming_);
}

template <typename Schedule>
typename WindowTask<Schedule>::Part WindowTask<Schedule>::whole_piece() const {
  const Range piece = schedule::slice_of({0, args().count}, piece_count_, step_.piece);
  const size_t offset = piece.offset * element_bytes_;
  return {piece.count * element_bytes_, offset, offset, 0};
}

template <typename Schedule>
typename WindowTask<Schedule>::Part WindowTask<Schedule>::part_of(int rank) const {
  if constexpr (kInBlocks<Schedule>) {
    const Block block = block_of(args(), context().rank, rank);
    const Range slice = schedule::slice_of({0, block.count}, piece_count_, step_.piece);
    const bool alone = Schedule::kCollective == Collective::all_gather;  // in the window of its owner
    const size_t stride = (piece_count_ * element_bytes_ + kCacheLine - 1) / kCacheLine * kCacheLine;
    return {slice.count * element_bytes_, (block.input + slice.offset) * element_bytes_,
            (block.output + slice.offset) * element_bytes_, alone ? 0 : static_cast<size_t>(rank) * stride};
  } else {
    const Part piece = whole_piece();
    const Range part =
        schedule::even_part(piece.bytes / element_bytes_, context().nranks, rank, kCacheLine / element_bytes_);
    const size_t offset = part.offset * element_bytes_;
    return {part.count * element_bytes_, piece.input + offset, piece.output + offset, offset};
  }
}

template <typename Schedule>
std::byte* WindowTask<Schedule>::window_of(int rank) const {
  const size_t number = used_slots<Schedule>(windows_) + step_.piece;
  return slot_of<Schedule>(segment_of(rank), number % Schedule::kSlots);
}

// Where a part lies that a rank publishes, or, for who fetches results, its result that is not lent.
template <typename Schedule>
const std::byte* WindowTask<Schedule>::published_by(int rank, const Part& part) const {
  const std::byte* input = windows_.peers[static_cast<size_t>(rank)].input;
  if (input == nullptr || (step_.action == WindowAction::fetch && !step_.as_published))
    return window_of(rank) + part.window;
  if constexpr (kInBlocks<Schedule>) {
    const bool alone = Schedule::kCollective == Collective::all_gather;  // the lent input is one block
    return input + (alone ? 0 : own_offset_) + step_.piece * piece_count_ * element_bytes_;
  } else {
    return input + part.input;
  }
}

template <typename Schedule>
const std::byte* WindowTask<Schedule>::input(const Part& part) const {
  return static_cast<const std::byte*>(args().send) + part.input;
}

template <typename Schedule>
std::byte* WindowTask<Schedule>::output(const Part& part) const {
  return static_cast<std::byte*>(args().receive) + part.output;
}

template <typename Schedule>
void WindowTask<Schedule>::finish() {
  windows_.pieces += static_cast<uint32_t>(pieces_);
  // Who waits for a counter compares by signed difference: it must not stay behind for 2^31 pieces of other operations.
  SegmentWords& words = segment_of(context().rank).words();
  store_before_publish(words.combined.value, windows_.pieces);
  store_before_publish(words.read.value, windows_.pieces);
  uint32_t& used = used_slots<Schedule>(windows_);
  used = static_cast<uint32_t>((used + pieces_) % Schedule::kSlots);
}

template class WindowTask<schedule::OneShot>;
template class WindowTask<schedule::TwoShot>;
template class WindowTask<schedule::DirectReduceScatter>;
template class WindowTask<schedule::DirectAllGather>;

}  // namespace ronde
