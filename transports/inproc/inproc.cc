#include "transports/inproc/inproc.h"

#include <fmt/format.h>

#include <condition_variable>
#include <map>
#include <mutex>

#include "link/memory_link.h"

namespace ronde {
namespace {

constexpr Milliseconds kStopPoll{50};  // how often a wait asks whether start-up has failed elsewhere

// Where the ranks of this process find each other's memory, keyed by job and rank. Shared by the transport and its
// endpoints; an endpoint takes its entry out when it goes.
class Table {
 public:
  using Key = std::pair<uint64_t, int>;

  void put(Key key, const OwnMemory& memory) {
    const std::scoped_lock lock(mutex_);
    entries_[key] = memory;
    changed_.notify_all();
  }
  void remove(Key key) {
    const std::scoped_lock lock(mutex_);
    entries_.erase(key);
  }
  // Waits for the entry of a rank; false if the deadline passes first, or start-up has failed.
  bool find(Key key, OwnMemory& found, const EndpointContext& context, Deadline deadline) {
    std::unique_lock lock(mutex_);
    while (!entries_.contains(key)) {
      if (context.stopped() || deadline.passed()) return false;
      changed_.wait_until(lock, deadline.earlier(Deadline::after(kStopPoll)).time());
    }
    found = entries_[key];
    return true;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<Key, OwnMemory> entries_;
};

class InprocEndpoint final : public MemoryEndpoint {
 public:
  InprocEndpoint(const EndpointContext& context, std::shared_ptr<Table> table, const Nonce& process)
      : MemoryEndpoint(context), table_(std::move(table)), process_(process) {}
  ~InprocEndpoint() override { table_->remove({context().job, context().rank}); }

  [[nodiscard]] Bytes facts() const override { return Writer().fixed(process_).take(); }

  Result<std::vector<bool>> reach(const Peers& peers, const OwnMemory& own, Deadline deadline) override {
    std::vector<bool> reached(peers.facts.size());
    table_->put({context().job, context().rank}, own);
    const Bytes mine = facts();
    for (size_t rank = 0; rank < reached.size(); ++rank) {
      if (static_cast<int>(rank) == context().rank || peers.facts[rank] != mine) continue;
      OwnMemory there;
      if (!table_->find({context().job, static_cast<int>(rank)}, there, context(), deadline)) {
        return Status(rondeTimedOut, fmt::format("rank {}, in the same process, did not bring its memory", rank));
      }
      found(static_cast<int>(rank), {there.segment, there.doorbell, there.doorbell->event_fd(), nullptr, there.arena});
      reached[rank] = true;
    }
    return reached;
  }

 private:
  std::shared_ptr<Table> table_;
  Nonce process_;
};

class InprocTransport final : public Transport {
 public:
  [[nodiscard]] std::string_view name() const override { return "inproc"; }
  [[nodiscard]] bool shares_memory() const override { return true; }

  Result<std::unique_ptr<Endpoint>> open(const EndpointContext& context) override {
    const std::scoped_lock lock(mutex_);
    if (!process_known_) RONDE_TRY(random_bytes(process_));
    process_known_ = true;
    return std::unique_ptr<Endpoint>(std::make_unique<InprocEndpoint>(context, table_, process_));
  }

 private:
  std::mutex mutex_;
  bool process_known_ = false;
  Nonce process_{};  // names this process, whatever its number in whatever namespace
  std::shared_ptr<Table> table_ = std::make_shared<Table>();
};

}  // namespace

std::unique_ptr<Transport> make_inproc_transport() { return std::make_unique<InprocTransport>(); }

}  // namespace ronde
