#include "link/segment.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <vector>

#include "base/file_size.h"

namespace ronde {
namespace {

constexpr size_t kPage = 4096;
constexpr size_t kPairBudget = 2 << 20;
constexpr uint32_t kPairSlots = 4;
constexpr size_t kLeastPairSlot = 4 << 10;
constexpr size_t kGreatestPairSlot = 256 << 10;

constexpr size_t round_up(size_t value, size_t to) { return (value + to - 1) / to * to; }

// Slots of `budget` bytes shared between all pair links of a rank.
SlotGeometry pair_geometry(int local_ranks) {
  const size_t peers = static_cast<size_t>(std::max(1, local_ranks - 1));
  for (const uint32_t slots : {kPairSlots, uint32_t{2}}) {
    const size_t bytes = kPairBudget / peers / slots / kPage * kPage;
    if (bytes >= kLeastPairSlot) return {slots, std::min(bytes, kGreatestPairSlot)};
  }
  return {};  // too many ranks: these pairs use another transport
}

Fd make_memfd() {
  return Fd::make([] { return ::memfd_create("ronde", MFD_CLOEXEC | MFD_ALLOW_SEALING); });
}

// Anonymous for a segment that stays in its process, else the descriptor's memory.
Result<std::byte*> map_memory(size_t bytes, int fd, int protection) {
  const int flags = fd >= 0 ? MAP_SHARED : MAP_PRIVATE | MAP_ANONYMOUS;
  void* base = MAP_FAILED;
  {
    const fork_guard::Section section;
    base = ::mmap(nullptr, bytes, protection, flags | MAP_NORESERVE, fd, 0);
    // No part of a forked child: else it could write here, and what the owner writes next would be copied for it. A
    // kernel that refuses leaves it at that.
    if (base != MAP_FAILED) ::madvise(base, bytes, MADV_DONTFORK);
  }
  if (base == MAP_FAILED) return system_error(fmt::format("cannot map {} bytes of shared memory", bytes), errno);
  return static_cast<std::byte*>(base);
}

}  // namespace

SegmentLayout SegmentLayout::for_ranks(int local_ranks) {
  SegmentLayout layout;
  layout.local_ranks = local_ranks;
  layout.ring = {kLinkSlots, kLinkSliceBytes};
  layout.pair = pair_geometry(local_ranks);
  layout.one_shot_bytes = 32 << 10;
  layout.piece_bytes = 384 << 10;

  const auto ranks = static_cast<size_t>(local_ranks);
  size_t end = sizeof(SegmentWords);
  const auto place = [&end](size_t bytes, size_t alignment) {
    const size_t offset = round_up(end, alignment);
    end = offset + bytes;
    return offset;
  };
  layout.ring_counters = place(2 * sizeof(SharedCounter), kCacheLine);
  layout.pair_counters = place(2 * ranks * sizeof(SharedCounter), kCacheLine);
  layout.one_shot = place(kOneShotSlots * layout.one_shot_bytes, kPage);
  layout.pieces = place(kPieceSlots * layout.piece_bytes, kPage);
  layout.ring_slots = place(layout.ring.total_bytes(), kPage);
  layout.pair_slots = place(ranks * layout.pair.total_bytes(), kPage);
  layout.total = round_up(end, kPage);
  return layout;
}

size_t SegmentLayout::most_bytes() {
  size_t most = 0;
  for (int ranks = 1; ranks <= 256; ++ranks) most = std::max(most, for_ranks(ranks).total);
  return most;
}

Status Segment::probe_sharing() {
  const Fd memfd = make_memfd();
  if (!memfd.valid()) return system_error("cannot make shared memory (memfd_create)", errno);
  if (::fcntl(memfd.get(), F_ADD_SEALS, F_SEAL_FUTURE_WRITE) != 0) {
    return system_error("cannot seal shared memory (F_SEAL_FUTURE_WRITE, Linux 5.1)", errno);
  }
  return {};
}

Result<std::shared_ptr<Segment>> Segment::create(const SegmentLayout& layout, bool shared) {
  Nonce token{};
  RONDE_TRY(random_bytes(token));
  Fd memfd;
  if (shared) {
    memfd = make_memfd();
    if (!memfd.valid()) return system_error("cannot make shared memory (memfd_create)", errno);
    if (!extend_file(memfd.get(), layout.total)) {
      return system_error(fmt::format("cannot make shared memory of {} bytes", layout.total), errno);
    }
  }
  RONDE_ASSIGN(std::byte * base, map_memory(layout.total, memfd.get(), PROT_READ | PROT_WRITE));
  std::shared_ptr<Segment> segment(new Segment(layout, token, base, std::move(memfd)));
  std::memcpy(segment->words().token.data(), token.data(), token.size());
  if (shared) {
    // After this only the mapping above can write: F_SEAL_FUTURE_WRITE keeps it and refuses new ones.
    const int seals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_FUTURE_WRITE | F_SEAL_SEAL;
    if (::fcntl(segment->memfd(), F_ADD_SEALS, seals) != 0) return system_error("cannot seal shared memory", errno);
  }
  return segment;
}

Result<std::shared_ptr<Segment>> Segment::map(int memfd, const SegmentLayout& layout, const Nonce& token) {
  struct stat info {};
  if (::fstat(memfd, &info) != 0) return system_error("cannot ask the size of a peer's shared memory", errno);
  // A file that could shrink would end this process by SIGBUS.
  const int seals = ::fcntl(memfd, F_GET_SEALS);
  if (seals < 0 || (seals & F_SEAL_SHRINK) == 0) {
    return Status(rondeSystemError, "a peer's shared memory is no sealed memory");
  }
  if (static_cast<size_t>(info.st_size) != layout.total) {
    return Status(rondeSystemError, fmt::format("a peer's shared memory has {} bytes where {} were expected",
                                                info.st_size, layout.total));
  }
  RONDE_ASSIGN(std::byte * base, map_memory(layout.total, memfd, PROT_READ));
  std::shared_ptr<Segment> segment(new Segment(layout, token, base, Fd()));
  if (std::memcmp(segment->words().token.data(), token.data(), token.size()) != 0) {
    return Status(rondeSystemError, "a peer's shared memory is not the one that it told");
  }
  return segment;
}

size_t Segment::touched_bytes() const {
  const auto page_bytes = static_cast<size_t>(::sysconf(_SC_PAGESIZE));
  std::vector<unsigned char> pages((layout_.total + page_bytes - 1) / page_bytes);
  if (::mincore(base_, layout_.total, pages.data()) != 0) return 0;
  const auto touched = std::count_if(pages.begin(), pages.end(), [](unsigned char page) { return (page & 1) != 0; });
  return static_cast<size_t>(touched) * page_bytes;
}

void Segment::start_counters_at(uint32_t value) {
  store_before_publish(words().published.value, value);
  store_before_publish(words().combined.value, value);
  store_before_publish(words().read.value, value);
  for (OperationLine& line : words().lines) store_before_publish(line.sequence, value);
  store_before_publish(ring_tail().value, value);
  store_before_publish(ring_head().value, value);
  for (int rank = 0; rank < layout_.local_ranks; ++rank) {
    store_before_publish(pair_tail(rank).value, value);
    store_before_publish(pair_head(rank).value, value);
  }
}

Segment::~Segment() {
  // A forked child has not inherited it, and may have mapped something else there.
  if (made_in_ == fork_guard::generation()) ::munmap(base_, layout_.total);
}

}  // namespace ronde
