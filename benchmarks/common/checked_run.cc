#include "common/checked_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

namespace perf {
namespace {

// A run's data start this much further in the pattern than those of the run before, so that a stale result is wrong.
constexpr std::size_t kStride = 7919;

std::size_t element_bytes(const Work& work) { return type_info(work.type).bytes; }

std::size_t region_count(const Work& work) { return std::max(work.shape.send_count, work.shape.recv_count); }

// Where the input and the result of a rank begin in its buffers, in elements.
std::size_t send_place(const Work& work, int rank) {
  return work.in_place ? work.shape.in_place_send * static_cast<std::size_t>(rank) : 0;
}
std::size_t recv_place(const Work& work, int rank) {
  return work.in_place ? work.shape.in_place_recv * static_cast<std::size_t>(rank) : 0;
}

}  // namespace

std::size_t region_bytes(const Work& work) { return region_count(work) * element_bytes(work); }

Call make_call(const Work& work, const Team& team, const Buffers& buffers, int i, std::size_t offset) {
  const auto place = static_cast<std::size_t>(i);
  const int rank = team.rank(i);
  const std::size_t element = element_bytes(work);
  const Buffer& send_buffer = work.in_place ? buffers.recv[place] : buffers.send[place];
  return {.send = send_buffer.data() + offset + send_place(work, rank) * element,
          .recv = buffers.recv[place].data() + offset + recv_place(work, rank) * element,
          .count = work.shape.count,
          .type = work.type,
          .op = team.reduction(i, work.op),
          .root = work.root,
          .rank = rank,
          .nranks = team.nranks(),
          .round = 0,
          .in_place = work.in_place,
          .comm = team.comm(i),
          .stream = team.stream(i)};
}

CheckCounts Checker::run(const Work& work, Pattern& pattern) {
  first_ = (first_ + kStride) % kPeriod;
  for (int i = 0; i < team_.size(); ++i) prepare(work, pattern, i);
  team_.barrier();
  start_operations(work, team_, buffers_, 1, [](int) { return std::size_t{0}; });
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

// The input, and elsewhere values of no rank: a write beside the result shows, and a rank that sends what it should not
// spoils the results of others. Where the result will come lies poison before, unless the input lies there.
Checker::Images Checker::images(const Work& work, Pattern& pattern, int rank, Moment moment) const {
  Images images;
  const Stretch filler{.count = region_count(work), .tile = &pattern.filler(), .first = first_};
  images.recv.cover(filler);
  if (!work.in_place) images.send.cover(filler);
  if (moment == Moment::kBefore) cover_result(work, pattern, rank, Stretch::Kind::kPoison, &images.recv);
  Image& input = work.in_place ? images.recv : images.send;
  input.cover({.place = send_place(work, rank),
               .count = work.collective.gives(work.shape, rank, team_.nranks(), work.root),
               .tile = &pattern.input(rank),
               .first = first_});
  if (moment == Moment::kAfter) cover_result(work, pattern, rank, Stretch::Kind::kResult, &images.recv);
  return images;
}

void Checker::cover_result(const Work& work, Pattern& pattern, int rank, Stretch::Kind kind, Image* image) const {
  std::size_t place = recv_place(work, rank);
  for (const Segment& segment : work.collective.expected(work.shape, rank, team_.nranks(), work.root)) {
    const bool reduced = segment.input_of == Segment::kReduced;
    image->cover({.place = place,
                  .count = segment.count,
                  .tile = reduced ? &pattern.reduced() : &pattern.input(segment.input_of),
                  .first = first_ + segment.first,
                  .kind = kind,
                  .allowed_ulps = reduced ? pattern.reduced_allowed_ulps() : 0});
    place += segment.count;
  }
}

void Checker::prepare(const Work& work, Pattern& pattern, int i) {
  const Buffer& send = buffers_.send[static_cast<std::size_t>(i)];
  const Buffer& recv = buffers_.recv[static_cast<std::size_t>(i)];
  const Images before = images(work, pattern, team_.rank(i), Moment::kBefore);
  before.send.write(pattern.type(), send.data());
  before.recv.write(pattern.type(), recv.data());
  send.arm(0, region_bytes(work));
  recv.arm(0, region_bytes(work));
}

CheckCounts Checker::compare(const Work& work, Pattern& pattern, int i) {
  const Buffer& send = buffers_.send[static_cast<std::size_t>(i)];
  const Buffer& recv = buffers_.recv[static_cast<std::size_t>(i)];
  const Images after = images(work, pattern, team_.rank(i), Moment::kAfter);
  CheckCounts counts = after.recv.compare(pattern.type(), recv.data());
  // The input belongs to the caller: a changed element is as bad as a write behind the end.
  counts.out_of_bounds += after.send.compare(pattern.type(), send.data()).out_of_bounds;
  counts.out_of_bounds += send.broken(0, region_bytes(work)) + recv.broken(0, region_bytes(work));
  return counts;
}

void Checker::flip_byte(const Work& work, int i) {
  const int rank = team_.rank(i);
  if (!flip_ || flip_->rank != rank || flip_->bytes != work.shape.bytes) return;
  const std::size_t byte = recv_place(work, rank) * element_bytes(work) + flip_->index;
  if (byte >= region_bytes(work) + kGuardBytes) {
    throw std::runtime_error(
        fmt::format("{}: a result of {} bytes has no byte {}", kFlipVariable, flip_->bytes, flip_->index));
  }
  // Far from the right value in every type: more than the units that an average may be off, more than a sign.
  buffers_.recv[static_cast<std::size_t>(i)].data()[byte] ^= std::byte{0x55};
  flip_.reset();
}

}  // namespace perf
