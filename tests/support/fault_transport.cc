#include "support/fault_transport.h"

#include <fmt/format.h>
#include <sys/eventfd.h>

#include <algorithm>
#include <array>
#include <random>
#include <thread>

namespace ronde::testing {
namespace {

class FaultSender;

// What the links of one endpoint share. Used by the thread that drives them.
struct Mischief {
  Mischief(const Faults& wanted, int rank, std::shared_ptr<Doorbell> bell)
      : faults(wanted), own_rank(rank), doorbell(std::move(bell)), random(wanted.seed * 1000 + rank) {}

  int draw() { return static_cast<int>(random() % static_cast<uint64_t>(faults.delays + 1)); }
  // What is put off has to be looked at again, and nobody else rings for it.
  void ring_self() const { ::eventfd_write(doorbell->event_fd(), 1); }
  [[nodiscard]] bool strikes() const { return faults.only_rank < 0 || faults.only_rank == own_rank; }

  Faults faults;
  int own_rank;
  std::shared_ptr<Doorbell> doorbell;
  std::mt19937_64 random;
  std::vector<FaultSender*> senders;
};

// Puts one thing off a few times.
class PutOff {
 public:
  bool again(Mischief& mischief) {
    if (left_ < 0) left_ = mischief.draw();
    if (left_ == 0) return false;
    --left_;
    mischief.ring_self();
    return true;
  }
  void reset() { left_ = -1; }

 private:
  int left_ = -1;
};

// How a slice travels: as it is, or as two halves whose numbers tell what the whole was.
int parts_of(const Faults& faults) { return faults.splits ? 2 : 1; }

struct Part {
  SliceHead head;
  size_t offset = 0;
};

Part part_of(const Faults& faults, const SliceHead& whole, int part) {
  if (!faults.splits) return {whole, 0};
  const uint32_t half = whole.bytes / 2;
  const uint32_t number = (whole.slice * 2 + static_cast<uint32_t>(part)) * 2 + whole.bytes % 2;
  return {{whole.sequence, whole.digest, number, part == 0 ? half : whole.bytes - half, whole.total},
          part == 0 ? 0 : half};
}

SliceHead whole_of(const Faults& faults, const SliceHead& part) {
  if (!faults.splits) return part;
  const uint32_t odd = part.slice % 2;
  const bool second = part.slice / 2 % 2 == 1;
  return {part.sequence, part.digest, part.slice / 4, second ? 2 * part.bytes - odd : 2 * part.bytes + odd, part.total};
}

std::byte* aligned(std::vector<std::byte>& memory) {
  const auto base = reinterpret_cast<uintptr_t>(memory.data());
  return memory.data() + (kCacheLine - base % kCacheLine) % kCacheLine;
}

class FaultSender final : public WireSender {
 public:
  FaultSender(std::unique_ptr<SendPort> inner, std::shared_ptr<Mischief> mischief)
      : inner_(std::move(inner)),
        mischief_(std::move(mischief)),
        stride_((inner_->slice_bytes() + kCacheLine - 1) / kCacheLine * kCacheLine),
        staging_(kQueue * stride_ + kCacheLine) {
    mischief_->senders.push_back(this);
  }
  ~FaultSender() override { std::erase(mischief_->senders, this); }

  std::byte* acquire() override {
    if (!room()) return nullptr;
    return aligned(staging_) + queued_ % kQueue * stride_;
  }
  void commit(const SliceHead& head) override { enqueue({head, acquire(), false, 0}); }
  bool send_by_reference(const SliceHead& head, const void* payload) override {
    if (!room()) return false;
    enqueue({head, static_cast<const std::byte*>(payload), true, 0});
    return true;
  }

  void advance() override {
    if (!mischief_->faults.reorders) return move();
    std::vector<FaultSender*> all = mischief_->senders;
    std::shuffle(all.begin(), all.end(), mischief_->random);
    for (FaultSender* sender : all) sender->move();
  }
  [[nodiscard]] bool idle() const override { return sent_ == queued_ && inner_->idle(); }
  [[nodiscard]] bool taken(uint32_t messages) override { return sent_ == queued_ && inner_->taken_up_to(messages); }
  [[nodiscard]] const Status& broken() const override {
    return broken_.ok() && inner_->broken() != nullptr ? *inner_->broken() : broken_;
  }
  [[nodiscard]] size_t memory_bytes() const override { return inner_->memory_bytes(); }

 private:
  // As many as fit a link of the real transports beside those in it: schedules count on that.
  static constexpr uint32_t kQueue = 4;

  struct Entry {
    SliceHead head;
    const std::byte* payload = nullptr;
    bool by_reference = false;
    int parts_sent = 0;
  };

  bool room() {
    const int limit = mischief_->faults.fail_after;
    if (mischief_->strikes() && limit >= 0 && queued_ >= static_cast<uint32_t>(limit) && broken_.ok()) {
      broken_ = Status(rondePeerLost, fmt::format("planted failure of the link to rank {}", inner_->peer()));
    }
    if (!broken_.ok()) return false;
    if (queued_ - sent_ == kQueue) move();
    return queued_ - sent_ < kQueue && !put_off_.again(*mischief_);
  }

  void enqueue(const Entry& entry) {
    put_off_.reset();
    entries_[queued_++ % kQueue] = entry;
    move();
  }

  void move() {
    inner_->advance();
    while (sent_ != queued_ && send(entries_[sent_ % kQueue])) ++sent_;
    if (sent_ == queued_) return;
    // The receiver rings only for who waits for it: look again soon, but leave it the processor.
    std::this_thread::sleep_for(std::chrono::microseconds(50));
    mischief_->ring_self();
  }

  // False: the link takes no more now.
  bool send(Entry& entry) {
    const int limit = mischief_->faults.drop_after;
    if (mischief_->strikes() && limit >= 0 && sent_ >= static_cast<uint32_t>(limit)) return true;
    for (; entry.parts_sent < parts_of(mischief_->faults); ++entry.parts_sent) {
      const Part part = part_of(mischief_->faults, entry.head, entry.parts_sent);
      if (!send_part(part.head, entry.payload + part.offset, entry.by_reference)) return false;
    }
    return true;
  }

  bool send_part(const SliceHead& head, const std::byte* payload, bool by_reference) {
    if (by_reference && inner_->by_reference()) return inner_->send_by_reference(head, payload);
    std::byte* slot = inner_->acquire();
    if (slot == nullptr) return false;
    if (head.bytes > 0) std::memcpy(slot, payload, head.bytes);
    inner_->commit(head);
    return true;
  }

  std::unique_ptr<SendPort> inner_;
  std::shared_ptr<Mischief> mischief_;
  size_t stride_;
  std::vector<std::byte> staging_;
  std::array<Entry, kQueue> entries_;
  uint32_t queued_ = 0;
  uint32_t sent_ = 0;
  PutOff put_off_;
  Status broken_;
};

class FaultReceiver final : public WireReceiver {
 public:
  FaultReceiver(std::unique_ptr<ReceivePort> inner, std::shared_ptr<Mischief> mischief)
      : inner_(std::move(inner)), mischief_(std::move(mischief)) {}

  Arrival receive(const SliceHead& expected, const std::byte** payload) override {
    if (found_ == nullptr) {
      const Arrival arrival = mischief_->faults.splits ? gather_in_staging(expected) : peek(expected);
      if (arrival != Arrival::here) return arrival;
    }
    if (arrived_.again(*mischief_)) return Arrival::none;
    *payload = found_;
    return Arrival::here;
  }

  Arrival receive_into(const SliceHead& expected, void* payload) override {
    const Arrival arrival = gather(expected, static_cast<std::byte*>(payload));
    if (arrival != Arrival::here) return arrival;
    return arrived_.again(*mischief_) ? Arrival::none : Arrival::here;
  }

  void release() override {
    if (peeked_) inner_->release(peeked_head_);
    peeked_ = false;
    found_ = nullptr;
    parts_ = 0;
    arrived_.reset();
  }
  bool acknowledge() override { return inner_->acknowledge(); }
  [[nodiscard]] SliceHead head() const override { return whole_of(mischief_->faults, inner_->head()); }
  [[nodiscard]] const Status& broken() const override {
    return inner_->broken() != nullptr ? *inner_->broken() : none_;
  }
  [[nodiscard]] size_t memory_bytes() const override { return inner_->memory_bytes(); }

 private:
  Arrival peek(const SliceHead& expected) {
    const Arrival arrival = inner_->receive(expected, &found_);
    peeked_ = arrival == Arrival::here;
    peeked_head_ = expected;
    return arrival;
  }

  Arrival gather_in_staging(const SliceHead& expected) {
    if (staging_.empty()) staging_.resize(kLargestSlice + kCacheLine);
    const Arrival arrival = gather(expected, aligned(staging_));
    if (arrival == Arrival::here) found_ = aligned(staging_);
    return arrival;
  }

  // Receives the parts one after the other.
  Arrival gather(const SliceHead& expected, std::byte* target) {
    while (parts_ < parts_of(mischief_->faults)) {
      if (parts_ > 0 && between_.again(*mischief_)) return Arrival::none;
      const Part part = part_of(mischief_->faults, expected, parts_);
      const Arrival arrival = gather_part(part.head, target + part.offset);
      if (arrival != Arrival::here) return arrival;
      inner_->release(part.head);
      between_.reset();
      ++parts_;
    }
    return Arrival::here;
  }

  Arrival gather_part(const SliceHead& expected, std::byte* target) {
    if (inner_->into_place()) return inner_->receive_into(expected, target);
    const std::byte* found = nullptr;
    const Arrival arrival = inner_->receive(expected, &found);
    if (arrival == Arrival::here && expected.bytes > 0) std::memcpy(target, found, expected.bytes);
    return arrival;
  }

  static constexpr size_t kLargestSlice = 1 << 20;

  std::unique_ptr<ReceivePort> inner_;
  std::shared_ptr<Mischief> mischief_;
  const std::byte* found_ = nullptr;  // of receive(): the slice has come, and is not released
  bool peeked_ = false;               // found_ is the inner link's memory
  SliceHead peeked_head_;
  int parts_ = 0;
  std::vector<std::byte> staging_;
  PutOff arrived_;
  PutOff between_;
  Status none_;
};

class FaultEndpoint final : public Endpoint {
 public:
  FaultEndpoint(std::unique_ptr<Endpoint> inner, const Faults& faults, int rank)
      : inner_(std::move(inner)), faults_(faults), rank_(rank) {}

  [[nodiscard]] Bytes facts() const override { return inner_->facts(); }
  Result<std::vector<bool>> reach(const Peers& peers, const OwnMemory& own, Deadline deadline) override {
    return inner_->reach(peers, own, deadline);
  }
  [[nodiscard]] const PeerMemory* memory_of(int rank) const override { return inner_->memory_of(rank); }

  Result<std::vector<MadeLink>> connect(std::span<const LinkWish> wishes, const Peers& peers, const OwnMemory& own,
                                        Deadline deadline) override {
    RONDE_ASSIGN(std::vector<MadeLink> links, inner_->connect(wishes, peers, own, deadline));
    mischief_ = std::make_shared<Mischief>(faults_, rank_, own.doorbell);
    for (MadeLink& link : links) spoil(link);
    return links;
  }

  void request(const LinkWish& wish, const OnceFlag* failed) override { inner_->request(wish, failed); }
  std::optional<Result<MadeLink>> take(const LinkWish& wish) override {
    std::optional<Result<MadeLink>> made = inner_->take(wish);
    if (made && made->ok()) spoil(**made);
    return made;
  }

 private:
  void spoil(MadeLink& link) const {
    if (link.send) {
      const int peer = link.send->peer();
      const size_t bytes = link.send->slice_bytes();
      auto wire = std::make_unique<FaultSender>(std::move(link.send), mischief_);
      link.send = std::make_unique<SendPort>(peer, bytes, std::move(wire));
    } else {
      const int peer = link.receive->peer();
      auto wire = std::make_unique<FaultReceiver>(std::move(link.receive), mischief_);
      link.receive = std::make_unique<ReceivePort>(peer, std::move(wire));
    }
  }

  std::unique_ptr<Endpoint> inner_;
  Faults faults_;
  int rank_;
  std::shared_ptr<Mischief> mischief_;  // since connect()
};

class FaultTransport final : public Transport {
 public:
  FaultTransport(std::unique_ptr<Transport> inner, const Faults& faults) : inner_(std::move(inner)), faults_(faults) {}

  [[nodiscard]] std::string_view name() const override { return inner_->name(); }
  [[nodiscard]] bool shares_memory() const override { return inner_->shares_memory(); }
  Result<std::unique_ptr<Endpoint>> open(const EndpointContext& context) override {
    RONDE_ASSIGN(std::unique_ptr<Endpoint> endpoint, inner_->open(context));
    return std::unique_ptr<Endpoint>(std::make_unique<FaultEndpoint>(std::move(endpoint), faults_, context.rank));
  }

 private:
  std::unique_ptr<Transport> inner_;
  Faults faults_;
};

}  // namespace

std::unique_ptr<Transport> make_fault_transport(std::unique_ptr<Transport> inner, const Faults& faults) {
  return std::make_unique<FaultTransport>(std::move(inner), faults);
}

std::vector<std::unique_ptr<Transport>> with_faults(std::vector<std::unique_ptr<Transport>> inner,
                                                    const Faults& faults) {
  std::vector<std::unique_ptr<Transport>> wrapped;
  for (auto& transport : inner) wrapped.push_back(make_fault_transport(std::move(transport), faults));
  return wrapped;
}

}  // namespace ronde::testing
