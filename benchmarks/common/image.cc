#include "common/image.h"

namespace perf {
namespace {

// The part of a stretch that lies in [from, end) of the buffer, which it overlaps.
Stretch part(const Stretch& whole, std::size_t from, std::size_t end) {
  Stretch part = whole;
  part.place = from;
  part.count = end - from;
  part.first += from - whole.place;
  return part;
}

}  // namespace

void Image::cover(const Stretch& stretch) {
  if (stretch.count == 0) return;
  const std::size_t from = stretch.place;
  const std::size_t end = stretch.place + stretch.count;
  std::vector<Stretch> left;
  for (const Stretch& old : stretches_) {
    const std::size_t old_end = old.place + old.count;
    if (old_end <= from || old.place >= end) {
      left.push_back(old);
      continue;
    }
    if (old.place < from) left.push_back(part(old, old.place, from));
    if (old_end > end) left.push_back(part(old, end, old_end));
  }
  left.push_back(stretch);
  stretches_ = std::move(left);
}

void Image::write(const TypeInfo& type, std::byte* to) const {
  for (const Stretch& stretch : stretches_) {
    fill(type, *stretch.tile, stretch.first, stretch.count, stretch.kind == Stretch::Kind::kPoison,
         to + stretch.place * type.bytes);
  }
}

CheckCounts Image::compare(const TypeInfo& type, const std::byte* got) const {
  CheckCounts counts;
  for (const Stretch& stretch : stretches_) {
    const std::size_t differ = count_wrong(type, *stretch.tile, stretch.first, stretch.count, stretch.allowed_ulps,
                                           got + stretch.place * type.bytes);
    (stretch.kind == Stretch::Kind::kResult ? counts.wrong : counts.out_of_bounds) += differ;
  }
  return counts;
}

}  // namespace perf
