// A one-way queue of a fixed number of slots between two ranks in shared memory, as its two ends see it.
//
// Slots and tail lie in the sender's segment, the head in the receiver's: each word in the memory of the one who writes
// it, so that segments can be mapped read-only by everybody else. All calls are non-blocking. Ringing the other side's
// doorbell is the caller's part (port.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "base/shared_word.h"
#include "link/place.h"

namespace ronde {

// What stands before the payload of each slice, in slots and on wires. The first slice of an operation on a link
// carries in it what the reader needs to see that both ends mean the same operation.
struct SliceHead {
  uint32_t sequence = 0;  // number of the operation in its communicator
  uint32_t digest = 0;    // of what must be equal on all ranks
  uint32_t slice = 0;     // number of the slice on this link within the operation
  uint32_t bytes = 0;     // of the payload
  uint64_t total = 0;     // bytes of the whole message, where each message has a size of its own; else 0
  bool operator==(const SliceHead&) const = default;
};

// Behind the head in the line of a slot: where in the sender's arena the payload lies, or kNoPlace if it is in the
// slot.
inline constexpr size_t kPlaceInLine = 32;
static_assert(sizeof(SliceHead) <= kPlaceInLine);

// Slices that every ring link, slots or wire, holds between its ends. Schedules count on it: fewer would deadlock.
inline constexpr uint32_t kLinkSlots = 4;
// Payload of a slot, on every transport: links of different ones cut alike.
inline constexpr size_t kLinkSliceBytes = 128 << 10;

// Where the slots lie. Each has a line for its head, then the payload.
struct SlotGeometry {
  uint32_t slots = 0;
  size_t payload_bytes = 0;  // a multiple of the cache line

  [[nodiscard]] constexpr size_t stride() const { return kCacheLine + payload_bytes; }
  [[nodiscard]] constexpr size_t total_bytes() const { return slots * stride(); }
  // Counted, not taken from the counters: 2^32 is no multiple of three slots, so that a number that wraps would jump.
  [[nodiscard]] constexpr uint32_t place_after(uint32_t place) const { return place + 1 == slots ? 0 : place + 1; }
};

class SlotSender {
 public:
  SlotSender() = default;
  SlotSender(SlotGeometry geometry, std::byte* slots, SharedCounter* tail, const SharedCounter* head)
      : geometry_(geometry), slots_(slots), tail_(tail), head_(head) {
    sent_ = head_seen_ = own_value(tail->value);
  }

  // The payload of the next slot, or null while the receiver holds all of them. The same until commit().
  [[nodiscard]] std::byte* acquire() {
    if (sent_ - head_seen_ >= geometry_.slots) {
      head_seen_ = observe(head_->value);
      if (sent_ - head_seen_ >= geometry_.slots) return nullptr;
    }
    return slot() + kCacheLine;
  }

  // Hands the acquired slot to the receiver. place: of the payload, if it is not in the slot.
  void commit(const SliceHead& head, Place place = kNoPlace) {
    std::memcpy(slot(), &head, sizeof head);
    std::memcpy(slot() + kPlaceInLine, &place, sizeof place);
    place_ = geometry_.place_after(place_);
    publish(tail_->value, ++sent_);
  }

  [[nodiscard]] bool all_released() {
    if (head_seen_ != sent_) head_seen_ = observe(head_->value);
    return head_seen_ == sent_;
  }

  [[nodiscard]] size_t payload_bytes() const { return geometry_.payload_bytes; }

 private:
  [[nodiscard]] std::byte* slot() const { return slots_ + place_ * geometry_.stride(); }

  SlotGeometry geometry_;
  std::byte* slots_ = nullptr;
  SharedCounter* tail_ = nullptr;        // own: slots committed so far
  const SharedCounter* head_ = nullptr;  // the receiver's: slots released so far
  uint32_t sent_ = 0;
  uint32_t head_seen_ = 0;
  uint32_t place_ = 0;  // of the next slot
};

class SlotReceiver {
 public:
  SlotReceiver() = default;
  SlotReceiver(SlotGeometry geometry, const std::byte* slots, const SharedCounter* tail, SharedCounter* head)
      : geometry_(geometry), slots_(slots), tail_(tail), head_(head) {
    received_ = tail_seen_ = own_value(head->value);
  }

  // The payload of the oldest slot, or null if there is none. The same until release().
  [[nodiscard]] const std::byte* peek() {
    if (tail_seen_ == received_) {
      tail_seen_ = observe(tail_->value);
      if (tail_seen_ == received_) return nullptr;
    }
    return slot() + kCacheLine;
  }
  // After peek() has found a slot.
  [[nodiscard]] SliceHead head() const {
    SliceHead head;
    std::memcpy(&head, slot(), sizeof head);
    return head;
  }

  [[nodiscard]] Place place() const {
    Place place = kNoPlace;
    std::memcpy(&place, slot() + kPlaceInLine, sizeof place);
    return place;
  }

  // Gives the slot back; its payload must not be read afterwards.
  void release() {
    place_ = geometry_.place_after(place_);
    publish(head_->value, ++received_);
  }

 private:
  [[nodiscard]] const std::byte* slot() const { return slots_ + place_ * geometry_.stride(); }

  SlotGeometry geometry_;
  const std::byte* slots_ = nullptr;
  const SharedCounter* tail_ = nullptr;  // the sender's
  SharedCounter* head_ = nullptr;        // own
  uint32_t received_ = 0;
  uint32_t tail_seen_ = 0;
  uint32_t place_ = 0;  // of the oldest slot
};

}  // namespace ronde
