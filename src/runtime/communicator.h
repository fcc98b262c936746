// One rank of a communicator: its links and windows to the other ranks, its place in the sequence of operations, and
// what went wrong first.
//
// Threads: operations, finalize and the destructor by one thread at a time; abort(), revoke(), gives_up(), finalized(),
// first_error() and lost_ranks() by any.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "base/secret.h"
#include "bootstrap/rendezvous.h"
#include "control/control.h"
#include "link/transport.h"
#include "plan/choose.h"
#include "runtime/exchange_task.h"
#include "runtime/failure.h"
#include "runtime/link_task.h"
#include "runtime/operation.h"
#include "runtime/pair_links.h"
#include "runtime/reduction_table.h"
#include "runtime/stream_entry.h"
#include "runtime/successor.h"
#include "runtime/window_task.h"

namespace ronde {

class Process;

struct CommunicatorOptions {
  int nranks = 1;
  int rank = 0;
  uint64_t job = 0;
  Secret secret;
  std::string name;
  Settings settings;
  std::shared_ptr<FailureState> stop;  // start-up is given up when somebody sets it; null: nobody will
  uint32_t counters_start = 0;         // of operations, pieces and slots; tests begin where 32 bits overflow
};

// What the set-up finds and makes; the communicator works on it.
struct CommunicatorParts {
  CommunicatorOptions options;
  std::shared_ptr<Control> control;
  std::shared_ptr<black_box::Area> black_box;
  std::shared_ptr<const void> memory_share;  // of the process's budget
  OwnMemory own;
  std::vector<PeerMemory> peers;               // by rank; empty where no memory is shared
  std::vector<std::string_view> transport_of;  // by rank; empty for the own one
  PairWays pair_ways;                          // empty if there is no other rank
  std::vector<MadeLink> links;                 // owns the ports below
  LinkSet ring;
  LinkSet by_rank;  // over pair links, in the order of ranks: star, ordered chain
  NodeWindows windows;
  plan::Layout layout;
  plan::Algorithm requested = plan::Algorithm::automatic;
  WaitPolicy policy;
};

// Bytes moved by one transport.
struct TransportTraffic {
  std::string_view transport;
  PortTraffic sent;
  PortTraffic received;
};

// Bytes that one rank takes.
struct MemoryUse {
  size_t segment = 0;  // address space
  size_t touched = 0;  // of the segment
  size_t wires = 0;
  size_t packing = 0;
};

class Communicator {
 public:
  // Blocks until all ranks have come, at most to the deadline. On an error the other ranks are told. black_box: its
  // place there.
  static Result<std::unique_ptr<Communicator>> create(Process& process, CommunicatorOptions options,
                                                      std::shared_ptr<black_box::Area> black_box,
                                                      std::unique_ptr<Rendezvous> rendezvous, Deadline deadline);
  ~Communicator();
  Communicator(const Communicator&) = delete;
  Communicator& operator=(const Communicator&) = delete;

  [[nodiscard]] uint64_t job() const { return parts_.options.job; }
  [[nodiscard]] int rank() const { return context_.rank; }
  [[nodiscard]] int nranks() const { return context_.nranks; }

  // Why no operation can start; ok if one can.
  [[nodiscard]] Status refusal() const;

  // Runs an operation in the calling thread, to its end. No operation may be queued.
  Status run(const OperationArgs& args);

  // An operation in progress and what drives it, for callers that drive several.
  struct Started {
    std::unique_ptr<OperationTask> task;  // null: it has ended already, with `status`
    Status status;
    Waiter waiter;
  };
  // Takes the next place in the sequence. The one before must have ended. args stay with the caller until the task is
  // gone.
  Started start(const OperationArgs& args);

  // Says goodbye; further operations are refused. Safe to call twice.
  Status finalize();
  // Both from any thread. Operations on this rank end, those of the others soon.
  void abort();
  void revoke();
  // A start of another communicator that abort() gives up, too; until it is gone.
  void gives_up(std::weak_ptr<FailureState> start);
  [[nodiscard]] Status first_error() const { return failure_.first(); }
  // Ranks whose processes have ended, as far as is known.
  [[nodiscard]] std::set<uint32_t> lost_ranks() const { return failure_.lost(); }
  [[nodiscard]] bool finalized() const { return finalized_.is_set(); }  // any thread

  // Takes the turn of a shrink, which ends with the result: what follows this communicator once ranks have gone, see
  // agree_on_succession. rondeInvalidUsage: a shrink of it is in progress.
  Result<Predecessor> begin_succession();
  [[nodiscard]] const CommunicatorOptions& options() const { return parts_.options; }

  [[nodiscard]] std::vector<TransportTraffic> traffic() const;
  [[nodiscard]] MemoryUse memory_use() const;
  ReductionTable& reductions() { return reductions_; }
  // The memory of a rank's process, beside its segment, that this rank can read; null: there is none.
  [[nodiscard]] const Arena* arena_of(int rank) const;
  // By the thread that drives the communicator.
  PairLinks& pairs() { return pairs_; }

  // Operations that were put on streams; kept by the worker.
  struct Queue {
    std::atomic<uint64_t> issued{0};
    alignas(kCacheLine) std::atomic<uint64_t> ended{0};
    EntryList<&StreamEntry::next_of_communicator> entries;  // of its thread: what it has taken in and not ended
  };
  Queue& queue() { return queue_; }
  // By the thread that calls its operations: some on streams have not ended.
  [[nodiscard]] bool has_queued() const { return observe_raised(queue_.issued) != observe_raised(queue_.ended); }

 private:
  explicit Communicator(CommunicatorParts parts);
  template <typename Use>
  auto with_task(const OperationArgs& call, Use use);
  [[nodiscard]] Waiter waiter_for(Task& task) { return {&task, parts_.own.doorbell.get(), parts_.policy, false}; }
  Status run_alone(const OperationArgs& args);
  [[nodiscard]] Reduction reduction_for(const OperationArgs& args) const;
  [[nodiscard]] bool is_ordered(const OperationArgs& args, const Reduction& reduction) const;
  [[nodiscard]] Status check_possible(const OperationArgs& args) const;
  uint32_t take_number(const OperationArgs& args);
  const OperationArgs& packed(const OperationArgs& call);

  CommunicatorParts parts_;
  LifeLog life_;
  FailureState failure_;
  Agreement agreement_;
  OperationContext context_;
  PairLinks pairs_;
  ExchangeRoom exchange_;
  uint32_t next_sequence_;      // of collectives
  uint32_t next_messages_ = 1;  // of groups of messages, on this rank
  ReductionTable reductions_;
  bool reproducible_ = false;
  bool float32_partials_ = false;
  std::vector<std::byte> packing_;  // several buffers that travel as one
  OperationArgs packed_args_;
  OnceFlag finalized_;
  std::shared_ptr<std::atomic<bool>> shrinks_ = std::make_shared<std::atomic<bool>>(false);
  std::mutex turn_mutex_;
  std::weak_ptr<ShrinkTurn> turn_;                   // of the last shrink
  std::vector<std::weak_ptr<FailureState>> starts_;  // that abort() gives up
  Queue queue_;
};

}  // namespace ronde
