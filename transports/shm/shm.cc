#include "transports/shm/shm.h"

#include <fmt/format.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstdlib>
#include <map>
#include <mutex>

#include "base/host.h"
#include "base/log.h"
#include "base/unix_socket.h"
#include "link/memory_link.h"
#include "transports/shm/handover.h"

namespace ronde {
namespace {

constexpr Milliseconds kHandoverLimit{10'000};

// The segments that this process has mapped, by token: a segment is mapped once in a process, however many of its ranks
// read it, and never beside its owner's own mapping.
class SegmentCache {
 public:
  void put(const std::shared_ptr<Segment>& segment) {
    const std::scoped_lock lock(mutex_);
    segments_[segment->token()] = segment;
  }
  Result<std::shared_ptr<Segment>> map(int memfd, const SegmentLayout& layout, const Nonce& token) {
    const std::scoped_lock lock(mutex_);
    std::erase_if(segments_, [](const auto& entry) { return entry.second.expired(); });
    const auto found = segments_.find(token);
    if (found != segments_.end()) {
      if (auto segment = found->second.lock()) return segment;
    }
    RONDE_ASSIGN(std::shared_ptr<Segment> segment, Segment::map(memfd, layout, token));
    segments_[token] = segment;
    return segment;
  }

 private:
  std::mutex mutex_;
  std::map<Nonce, std::weak_ptr<Segment>> segments_;
};

Result<std::string> random_name() {
  std::array<std::byte, 16> bytes{};
  RONDE_TRY(random_bytes(bytes));
  std::string name = "ronde-";
  for (const std::byte byte : bytes) name += fmt::format("{:02x}", std::to_integer<unsigned>(byte));
  return name;
}

class ShmEndpoint final : public MemoryEndpoint {
 public:
  ShmEndpoint(const EndpointContext& context, std::shared_ptr<SegmentCache> cache, std::string name, Fd listener)
      : MemoryEndpoint(context),
        cache_(std::move(cache)),
        name_(std::move(name)),
        listener_(std::move(listener)),
        boot_id_(boot_id()) {}

  [[nodiscard]] Bytes facts() const override { return Writer().text(boot_id_).text(name_).take(); }

  Result<std::vector<bool>> reach(const Peers& peers, const OwnMemory& own, Deadline deadline) override {
    std::vector<bool> reached(peers.facts.size());
    cache_->put(own.segment);
    const Offer offer{context().job,        context().secret,         context().rank, own.segment->token(),
                      own.segment->memfd(), own.doorbell->event_fd(), own.black_box};
    const std::vector<Candidate> candidates = candidates_among(peers);
    // Half of the time at most: without shared memory the next transport needs some too.
    const Deadline end = deadline.halfway(Clock::now()).earlier(Deadline::after(kHandoverLimit));
    RONDE_ASSIGN(std::vector<Received> all, hand_over(offer, listener_.get(), candidates, context().stop, end));
    for (Received& received : all) {
      auto segment = cache_->map(received.memfd.get(), own.segment->layout(), received.token);
      if (!segment.ok()) {
        log::warn("no shared memory with rank {}: {}", received.rank, segment.status().message());
        continue;
      }
      const auto event = std::make_shared<Fd>(std::move(received.event));
      PeerMemory memory{*segment, event, event->get(), nullptr};
      if (received.black_box.valid()) memory.black_box = std::make_shared<const Fd>(std::move(received.black_box));
      found(received.rank, std::move(memory));
      reached[static_cast<size_t>(received.rank)] = true;
    }
    listener_.reset();
    return reached;
  }

 private:
  [[nodiscard]] std::vector<Candidate> candidates_among(const Peers& peers) const {
    std::vector<Candidate> candidates;
    for (size_t rank = 0; rank < peers.facts.size(); ++rank) {
      Reader reader(peers.facts[rank]);
      const std::string host = reader.text();
      const std::string name = reader.text();
      const bool settled = !peers.settled.empty() && peers.settled[rank];
      const bool other = static_cast<int>(rank) != context().rank && !settled;
      if (!other || !reader.complete() || host != boot_id_) continue;
      candidates.push_back({static_cast<int>(rank), name, is_neighbour(peers, rank)});
    }
    return candidates;
  }

  // Two hold a rank's black box beside itself: enough to outlive it, and few descriptors.
  [[nodiscard]] bool is_neighbour(const Peers& peers, size_t rank) const {
    return std::abs(peers.local_index[rank] - peers.local_index[static_cast<size_t>(context().rank)]) == 1;
  }

  std::shared_ptr<SegmentCache> cache_;
  std::string name_;
  Fd listener_;
  std::string boot_id_;
};

class ShmTransport final : public Transport {
 public:
  [[nodiscard]] std::string_view name() const override { return "shm"; }
  [[nodiscard]] bool shares_memory() const override { return true; }

  Result<std::unique_ptr<Endpoint>> open(const EndpointContext& context) override {
    RONDE_TRY(Segment::probe_sharing());
    RONDE_ASSIGN(std::string name, random_name());
    RONDE_ASSIGN(Fd listener, listen_abstract(name, SOMAXCONN));
    return std::unique_ptr<Endpoint>(
        std::make_unique<ShmEndpoint>(context, cache_, std::move(name), std::move(listener)));
  }

 private:
  std::shared_ptr<SegmentCache> cache_ = std::make_shared<SegmentCache>();
};

}  // namespace

std::unique_ptr<Transport> make_shm_transport() { return std::make_unique<ShmTransport>(); }

}  // namespace ronde
