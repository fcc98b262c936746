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

// What of one kind this process has mapped, by token: each is mapped once in a process, however many of its ranks read
// it, and never beside its owner's own mapping.
template <typename Memory>
class MappedOnce {
 public:
  void put(const std::shared_ptr<Memory>& memory) {
    const std::scoped_lock lock(mutex_);
    mapped_[memory->token()] = memory;
  }
  // map(): how to map it, if it is not mapped yet.
  template <typename Map>
  Result<std::shared_ptr<Memory>> get(const Nonce& token, Map map) {
    const std::scoped_lock lock(mutex_);
    std::erase_if(mapped_, [](const auto& entry) { return entry.second.expired(); });
    if (const auto found = mapped_.find(token); found != mapped_.end()) {
      if (auto memory = found->second.lock()) return memory;
    }
    RONDE_ASSIGN(std::shared_ptr<Memory> memory, map());
    mapped_[token] = memory;
    return memory;
  }

 private:
  std::mutex mutex_;
  std::map<Nonce, std::weak_ptr<Memory>> mapped_;
};

// The memory of others that this process reads.
struct MappedMemory {
  MappedOnce<Segment> segments;
  MappedOnce<Arena> arenas;
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
  ShmEndpoint(const EndpointContext& context, std::shared_ptr<MappedMemory> mapped, std::string name, Fd listener)
      : MemoryEndpoint(context),
        mapped_(std::move(mapped)),
        name_(std::move(name)),
        listener_(std::move(listener)),
        boot_id_(boot_id()) {}

  [[nodiscard]] Bytes facts() const override { return Writer().text(boot_id_).text(name_).take(); }

  Result<std::vector<bool>> reach(const Peers& peers, const OwnMemory& own, Deadline deadline) override {
    std::vector<bool> reached(peers.facts.size());
    mapped_->segments.put(own.segment);
    Offer offer{context().job,        context().secret,         context().rank, own.segment->token(),
                own.segment->memfd(), own.doorbell->event_fd(), own.black_box};
    if (own.arena != nullptr) {
      mapped_->arenas.put(own.arena);
      offer.arena_token = own.arena->token();
      offer.arena = own.arena->memfd();
    }
    const std::vector<Candidate> candidates = candidates_among(peers);
    // Half of the time at most: without shared memory the next transport needs some too.
    const Deadline end = deadline.halfway(Clock::now()).earlier(Deadline::after(kHandoverLimit));
    RONDE_ASSIGN(std::vector<Received> all, hand_over(offer, listener_.get(), candidates, context().stop, end));
    for (Received& received : all) {
      auto segment = mapped_->segments.get(
          received.token, [&] { return Segment::map(received.memfd.get(), own.segment->layout(), received.token); });
      if (!segment.ok()) {
        log::warn("no shared memory with rank {}: {}", received.rank, segment.status().message());
        continue;
      }
      const auto event = std::make_shared<Fd>(std::move(received.event));
      PeerMemory memory{*segment, event, event->get(), nullptr, arena_of(received, candidates.size())};
      if (received.black_box.valid()) memory.black_box = std::make_shared<const Fd>(std::move(received.black_box));
      found(received.rank, std::move(memory));
      reached[static_cast<size_t>(received.rank)] = true;
    }
    listener_.reset();
    return reached;
  }

 private:
  // Null: operations copy what that rank reads here and what is read from it.
  [[nodiscard]] std::shared_ptr<const Arena> arena_of(const Received& received, size_t arenas) {
    if (!received.arena.valid()) return nullptr;
    auto arena = mapped_->arenas.get(received.arena_token, [&] {
      return Arena::map(received.arena.get(), received.arena_token, Arena::share_of_addresses(arenas));
    });
    if (arena.ok()) return *arena;
    log::info("operations copy what rank {} gives from its library memory: {}", received.rank,
              arena.status().message());
    return nullptr;
  }

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

  std::shared_ptr<MappedMemory> mapped_;
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
        std::make_unique<ShmEndpoint>(context, mapped_, std::move(name), std::move(listener)));
  }

 private:
  std::shared_ptr<MappedMemory> mapped_ = std::make_shared<MappedMemory>();
};

}  // namespace

std::unique_ptr<Transport> make_shm_transport() { return std::make_unique<ShmTransport>(); }

}  // namespace ronde
