// The memory of one rank that the other ranks of its node can read: words, windows and link slots. Written by its owner
// only; peers of other processes map it read-only, and a seal keeps it so.
//
// All ranks of a node cut their segments alike, from the number of ranks in the node alone. Pages are touched at first
// use, so that what is not used costs nothing.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "base/crypto.h"
#include "base/fd.h"
#include "base/fork_guard.h"
#include "base/shared_word.h"
#include "base/status.h"
#include "link/slot_ring.h"

namespace ronde {

// The fixed first line of an operation that all ranks of a node take part in. Published in one of two places by the
// parity of its number. A payload rides in it only where everybody hears from everybody.
struct alignas(kCacheLine) OperationLine {
  static constexpr size_t kPayloadBytes = 56;
  std::atomic<uint32_t> sequence;
  uint32_t digest;
  std::array<std::byte, kPayloadBytes> payload;
};
static_assert(sizeof(OperationLine) == kCacheLine);

// What of a segment everybody looks at, at its start.
struct SegmentWords {
  std::array<std::byte, kCacheLine> token;  // 32 random bytes that its owner told the others: proof that it is this one
  SleepWord sleep;
  SharedCounter published;  // window pieces of the owner that the others can read
  SharedCounter combined;   // window pieces whose part of the owner is reduced
  SharedCounter read;  // window pieces of which the owner has read all that it needs; told where somebody waits for it
  // Not 0: an operation has failed here, so what others were to read in the arena of the owner may be anything by now.
  SharedCounter withdrawn;
  OperationLine lines[2];
};

// Where things lie in a segment: sizes and offsets in bytes.
struct SegmentLayout {
  // As many as the schedules that use them need.
  static constexpr size_t kOneShotSlots = 2;
  static constexpr size_t kPieceSlots = 3;

  int local_ranks = 1;
  SlotGeometry ring;          // one outgoing link to the next rank of the ring
  SlotGeometry pair;          // one outgoing link to each rank of the node; no slots if there are too many ranks
  size_t one_shot_bytes = 0;  // each of kOneShotSlots
  size_t piece_bytes = 0;     // each of kPieceSlots

  size_t ring_counters = 0;  // tail of the link to the next rank, head of the link from the previous one
  size_t pair_counters = 0;  // for each rank of the node: tail, head
  size_t one_shot = 0;
  size_t pieces = 0;
  size_t ring_slots = 0;
  size_t pair_slots = 0;
  size_t total = 0;

  static SegmentLayout for_ranks(int local_ranks);
  // The greatest total of all numbers of ranks up to a few hundred, for budgets made before that number is known.
  [[nodiscard]] static size_t most_bytes();
};

// Not inherited by forked children.
class Segment {
 public:
  // Ok if the system can make sealed shared memory (Linux 5.1, and nothing forbids it).
  static Status probe_sharing();
  // Makes the segment of the calling rank. shared: in a sealed memfd that can be handed to other processes.
  static Result<std::shared_ptr<Segment>> create(const SegmentLayout& layout, bool shared);
  // Maps the segment behind a descriptor that a peer handed over, read-only. rondeSystemError when its size is not that
  // of the layout or its token is not the one that was told.
  static Result<std::shared_ptr<Segment>> map(int memfd, const SegmentLayout& layout, const Nonce& token);
  ~Segment();
  Segment(const Segment&) = delete;
  Segment& operator=(const Segment&) = delete;

  [[nodiscard]] const SegmentLayout& layout() const { return layout_; }
  [[nodiscard]] const Nonce& token() const { return token_; }
  [[nodiscard]] int memfd() const { return memfd_.get(); }  // -1 unless created as shared

  // What of it is in memory, in bytes.
  [[nodiscard]] size_t touched_bytes() const;

  // Sets all counters and the numbers of the lines, which are 0 else. By the owner, before any other rank reaches it.
  void start_counters_at(uint32_t value);

  [[nodiscard]] SegmentWords& words() { return *reinterpret_cast<SegmentWords*>(base_); }
  [[nodiscard]] std::byte* one_shot(size_t slot) { return base_ + layout_.one_shot + slot * layout_.one_shot_bytes; }
  [[nodiscard]] std::byte* piece(size_t slot) { return base_ + layout_.pieces + slot * layout_.piece_bytes; }
  [[nodiscard]] std::byte* ring_slots() { return base_ + layout_.ring_slots; }
  [[nodiscard]] std::byte* pair_slots(int local_rank) {
    return base_ + layout_.pair_slots + static_cast<size_t>(local_rank) * layout_.pair.total_bytes();
  }
  [[nodiscard]] SharedCounter& ring_tail() { return counter(layout_.ring_counters, 0); }
  [[nodiscard]] SharedCounter& ring_head() { return counter(layout_.ring_counters, 1); }
  [[nodiscard]] SharedCounter& pair_tail(int local_rank) { return counter(layout_.pair_counters, 2 * local_rank); }
  [[nodiscard]] SharedCounter& pair_head(int local_rank) { return counter(layout_.pair_counters, 2 * local_rank + 1); }

 private:
  Segment(const SegmentLayout& layout, const Nonce& token, std::byte* base, Fd memfd)
      : layout_(layout), token_(token), base_(base), memfd_(std::move(memfd)) {}
  SharedCounter& counter(size_t offset, int index) { return reinterpret_cast<SharedCounter*>(base_ + offset)[index]; }

  SegmentLayout layout_;
  Nonce token_;
  std::byte* base_;  // a peer's segment is mapped read-only: a write to it faults, by design
  Fd memfd_;
  uint32_t made_in_ = fork_guard::generation();
};

}  // namespace ronde
