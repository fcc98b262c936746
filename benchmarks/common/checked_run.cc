#include "common/checked_run.h"

namespace perf {
namespace {

// A run's data start this much further in the pattern than those of the run before, so that a stale result is wrong.
constexpr std::size_t kStride = 7919;

std::size_t element_bytes(const Work& work) { return type_info(work.type).bytes; }

std::size_t in_place_offset(const Work& work, int rank) {
  return work.shape.in_place_send * static_cast<std::size_t>(rank) * element_bytes(work);
}

const Tile& tile_of(const Segment& segment, Pattern& pattern) {
  return segment.input_of == Segment::kReduced ? pattern.reduced() : pattern.input(segment.input_of);
}

}  // namespace

Call make_call(const Work& work, const Team& team, const Buffers& buffers, int i, std::size_t offset) {
  const auto place = static_cast<std::size_t>(i);
  std::byte* recv = buffers.recv[place].data() + offset;
  const std::byte* send =
      work.in_place ? recv + in_place_offset(work, team.rank(i)) : buffers.send[place].data() + offset;
  return {send, recv, work.shape.count, work.type, work.op, work.root, team.comm(i), team.stream(i)};
}

CheckCounts Checker::run(const Work& work, Pattern& pattern) {
  first_ = (first_ + kStride) % kPeriod;
  for (int i = 0; i < team_.size(); ++i) prepare(work, pattern, i);
  team_.barrier();
  team_.start(work.collective.function(), 1,
              [&](int i, int) { return work.collective.start(make_call(work, team_, buffers_, i, 0)); });
  team_.synchronize();
  CheckCounts counts;
  for (int i = 0; i < team_.size(); ++i) {
    flip_byte(work, i);
    const CheckCounts own = compare(work, pattern, i);
    counts.wrong += own.wrong;
    counts.out_of_bounds += own.out_of_bounds;
  }
  return counts;
}

void Checker::prepare(const Work& work, Pattern& pattern, int i) {
  const TypeInfo& type = pattern.type();
  const Buffer& recv = buffers_.recv[static_cast<std::size_t>(i)];
  std::byte* to = recv.data();
  for (const Segment& segment : work.collective.expected(work.shape, team_.rank(i), team_.nranks(), work.root)) {
    fill(type, tile_of(segment, pattern), first_ + segment.first, segment.count, true, to);
    to += segment.count * type.bytes;
  }
  recv.arm(0, work.shape.recv_count * type.bytes);
  std::byte* input = work.in_place ? recv.data() + in_place_offset(work, team_.rank(i))
                                   : buffers_.send[static_cast<std::size_t>(i)].data();
  fill(type, pattern.input(team_.rank(i)), first_, work.shape.send_count, false, input);
}

CheckCounts Checker::compare(const Work& work, Pattern& pattern, int i) {
  const TypeInfo& type = pattern.type();
  const Buffer& recv = buffers_.recv[static_cast<std::size_t>(i)];
  CheckCounts counts;
  const std::byte* got = recv.data();
  for (const Segment& segment : work.collective.expected(work.shape, team_.rank(i), team_.nranks(), work.root)) {
    const int ulps = segment.input_of == Segment::kReduced ? pattern.reduced_allowed_ulps() : 0;
    counts.wrong += count_wrong(type, tile_of(segment, pattern), first_ + segment.first, segment.count, ulps, got);
    got += segment.count * type.bytes;
  }
  counts.out_of_bounds = recv.broken(0, work.shape.recv_count * type.bytes);
  if (!work.in_place) {
    // The input belongs to the caller: a changed element is as bad as a write behind the end.
    counts.out_of_bounds += count_wrong(type, pattern.input(team_.rank(i)), first_, work.shape.send_count, 0,
                                        buffers_.send[static_cast<std::size_t>(i)].data());
  }
  return counts;
}

void Checker::flip_byte(const Work& work, int i) {
  if (!flip_ || flip_->rank != team_.rank(i) || flip_->bytes != work.shape.bytes) return;
  if (flip_->index >= work.shape.recv_count * element_bytes(work)) return;
  // Far from the right value in every type: more than the units that an average may be off, more than a sign.
  buffers_.recv[static_cast<std::size_t>(i)].data()[flip_->index] ^= std::byte{0x55};
  flip_.reset();
}

}  // namespace perf
