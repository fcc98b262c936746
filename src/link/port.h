// The two ends of a link as an executor uses them, whatever carries it: slots in shared memory, inline and without a
// virtual call, or a wire (TCP, later RDMA) behind an interface. All calls are non-blocking.
//
// Capabilities are asked for, never stubs that fail: a wire can send from and receive into the caller's memory
// (by_reference, into_place). Slots can lend what lies in the arena of the process, if the receiver reads that (lends).
#pragma once

#include <cstring>
#include <memory>

#include "base/doorbell.h"
#include "base/status.h"
#include "link/arena.h"
#include "link/slot_ring.h"

namespace ronde {

// Bytes moved by one end of a link. Written by the thread that drives the communicator.
struct PortTraffic {
  unsigned long long payload = 0;
  unsigned long long heads = 0;
  unsigned long long staged = 0;  // of the payload: what was copied first, so that it could be read or sent from there
};

// The sending end of a wire.
class WireSender {
 public:
  virtual ~WireSender() = default;
  // Memory of the wire for the next slice, or null while all of it is on the way. The same until commit().
  virtual std::byte* acquire() = 0;
  virtual void commit(const SliceHead& head) = 0;
  // Queues a slice that lies in the caller's memory, which must stay unchanged until idle(). False: no room now.
  virtual bool send_by_reference(const SliceHead& head, const void* payload) = 0;
  // Moves what can be moved. Called often.
  virtual void advance() = 0;
  // Everything that was queued has left the memory it was in.
  [[nodiscard]] virtual bool idle() const = 0;
  // Everything has left, and the other end has acknowledged so many messages so far (modulo 2^32).
  [[nodiscard]] virtual bool taken(uint32_t messages) = 0;
  // Set once the wire is broken; the link moves nothing any more.
  [[nodiscard]] virtual const Status& broken() const = 0;
  // Of its buffers, whether they were used or not.
  [[nodiscard]] virtual size_t memory_bytes() const = 0;
};

enum class Arrival : uint8_t {
  none,        // not yet, or not completely
  here,        // the expected slice is here
  unexpected,  // the slice that has come is another one: see head()
  broken,      // the link is broken: see broken()
};

// The receiving end of a wire.
class WireReceiver {
 public:
  virtual ~WireReceiver() = default;
  // Receives the next slice into memory of the wire; *payload is set when it is here, and valid until release().
  virtual Arrival receive(const SliceHead& expected, const std::byte** payload) = 0;
  // Receives the next slice into the caller's memory. Called again with the same arguments until it is here.
  virtual Arrival receive_into(const SliceHead& expected, void* payload) = 0;
  virtual void release() = 0;
  // Tells the sender that a message has come completely. False: not possible now, call again.
  virtual bool acknowledge() = 0;
  [[nodiscard]] virtual SliceHead head() const = 0;  // of the slice that has come
  [[nodiscard]] virtual const Status& broken() const = 0;
  [[nodiscard]] virtual size_t memory_bytes() const = 0;
};

class SendPort {
 public:
  SendPort() = default;
  // arena: of this process, if the receiver can read it, else null; outlives the port.
  SendPort(int peer, const SlotSender& slots, const Ringer& ringer, const Arena* arena = nullptr)
      : peer_(peer), slots_(slots), ringer_(ringer), arena_(arena) {}
  SendPort(int peer, size_t slice_bytes, std::unique_ptr<WireSender> wire)
      : peer_(peer), slice_bytes_(slice_bytes), wire_(std::move(wire)) {}

  [[nodiscard]] int peer() const { return peer_; }  // a rank
  [[nodiscard]] size_t slice_bytes() const { return wire_ ? slice_bytes_ : slots_.payload_bytes(); }
  [[nodiscard]] bool by_reference() const { return wire_ != nullptr; }
  // Whether these bytes can be sent by reference, over slots.
  [[nodiscard]] bool lends(const void* payload, size_t bytes) const {
    return arena_ != nullptr && arena_->place_of(payload, bytes) != kNoPlace;
  }

  // Memory for the next slice, aligned to a cache line, or null.
  [[nodiscard]] std::byte* acquire() { return wire_ ? wire_->acquire() : slots_.acquire(); }
  void commit(const SliceHead& head) {
    count(head);
    if (wire_) {
      wire_->commit(head);
    } else {
      slots_.commit(head);
      ringer_.ring();
    }
  }
  // Only if by_reference(), or lends() for this payload, which must stay unchanged until idle().
  [[nodiscard]] bool send_by_reference(const SliceHead& head, const void* payload) {
    if (wire_ ? !wire_->send_by_reference(head, payload) : !lend(head, payload)) return false;
    count(head);
    return true;
  }
  // So many bytes of a slice were copied into the memory that acquire() gave.
  void count_staged(size_t bytes) { traffic_.staged += bytes; }
  void advance() {
    if (wire_) wire_->advance();
  }
  [[nodiscard]] bool idle() {
    if (wire_) return wire_->idle();
    if (lent_ && slots_.all_released()) lent_ = false;
    return !lent_;
  }
  // A message has been handed over whose end the receiver will acknowledge.
  void await_acknowledgement() { ++awaited_; }
  // The receiver has all that was sent so far: it has released every slot, or acknowledged every message that is
  // awaited.
  [[nodiscard]] bool taken() { return taken_up_to(awaited_); }
  [[nodiscard]] bool taken_up_to(uint32_t messages) { return wire_ ? wire_->taken(messages) : slots_.all_released(); }
  [[nodiscard]] const Status* broken() const { return wire_ && !wire_->broken().ok() ? &wire_->broken() : nullptr; }
  [[nodiscard]] const PortTraffic& traffic() const { return traffic_; }
  // Of its own, beside segments.
  [[nodiscard]] size_t memory_bytes() const { return wire_ ? wire_->memory_bytes() : 0; }

 private:
  void count(const SliceHead& head) {
    traffic_.payload += head.bytes;
    traffic_.heads += sizeof(SliceHead);
  }
  bool lend(const SliceHead& head, const void* payload) {
    if (slots_.acquire() == nullptr) return false;
    slots_.commit(head, arena_->place_of(payload, head.bytes));
    ringer_.ring();
    lent_ = true;
    return true;
  }

  int peer_ = -1;
  bool lent_ = false;  // perhaps something that the receiver has not released
  size_t slice_bytes_ = 0;
  uint32_t awaited_ = 0;
  SlotSender slots_;
  Ringer ringer_;
  const Arena* arena_ = nullptr;
  std::unique_ptr<WireSender> wire_;
  PortTraffic traffic_;
};

// Where a receiver finds what a sender lends.
struct Lender {
  const Arena* arena = nullptr;              // null: it cannot be read here
  const SharedCounter* withdrawn = nullptr;  // see SegmentWords
};

class ReceivePort {
 public:
  ReceivePort() = default;
  ReceivePort(int peer, const SlotReceiver& slots, const Ringer& ringer, const Lender& lender = {})
      : peer_(peer), slots_(slots), ringer_(ringer), lender_(lender) {}
  ReceivePort(int peer, std::unique_ptr<WireReceiver> wire) : peer_(peer), wire_(std::move(wire)) {}

  [[nodiscard]] int peer() const { return peer_; }
  [[nodiscard]] bool into_place() const { return wire_ != nullptr; }

  // The payload of the next slice, which must have this head. Valid until release().
  Arrival receive(const SliceHead& expected, const std::byte** payload) {
    if (wire_) return wire_->receive(expected, payload);
    const std::byte* found = slots_.peek();
    if (found == nullptr) return Arrival::none;
    if (!(slots_.head() == expected)) return Arrival::unexpected;
    const Place place = slots_.place();
    borrowed_ = place != kNoPlace;
    *payload = borrowed_ ? borrow(place, expected.bytes) : found;
    return *payload != nullptr ? Arrival::here : Arrival::broken;
  }
  // The slice that has come was still the sender's to lend when everything that was read of it so far was read. False:
  // what was read may be anything, and the link is broken. To be asked before it is handed on.
  [[nodiscard]] bool still_lent() {
    if (!borrowed_ || held_until_now(lender_.withdrawn->value, 0)) return true;
    withdrawn_ = Status(rondeRemoteError, "a rank has given up an operation whose memory this rank reads");
    return false;
  }
  // Only if into_place().
  Arrival receive_into(const SliceHead& expected, void* payload) { return wire_->receive_into(expected, payload); }

  void release(const SliceHead& head) {
    traffic_.payload += head.bytes;
    traffic_.heads += sizeof(SliceHead);
    if (wire_) {
      wire_->release();
    } else {
      slots_.release();
      ringer_.ring();
    }
  }
  // For senders that await it. False: not possible now, call again.
  [[nodiscard]] bool acknowledge() { return !wire_ || wire_->acknowledge(); }
  [[nodiscard]] SliceHead head() const { return wire_ ? wire_->head() : slots_.head(); }
  [[nodiscard]] const Status* broken() const {
    const Status& status = wire_ ? wire_->broken() : withdrawn_;
    return status.ok() ? nullptr : &status;
  }
  [[nodiscard]] const PortTraffic& traffic() const { return traffic_; }
  [[nodiscard]] size_t memory_bytes() const { return wire_ ? wire_->memory_bytes() : 0; }

 private:
  const std::byte* borrow(Place place, size_t bytes) {
    const std::byte* payload = lender_.arena != nullptr ? lender_.arena->at(place, bytes) : nullptr;
    if (payload == nullptr) withdrawn_ = Status(rondeRemoteError, "a rank names memory that it does not have");
    return payload;
  }

  int peer_ = -1;
  bool borrowed_ = false;  // the slice that has come lies in the sender's arena
  SlotReceiver slots_;
  Ringer ringer_;
  Lender lender_;
  Status withdrawn_;  // why a link over slots is broken
  std::unique_ptr<WireReceiver> wire_;
  PortTraffic traffic_;
};

}  // namespace ronde
