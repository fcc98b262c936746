// The contract between the library and what carries bytes between two ranks. A specification; tests/conformance holds
// every transport to it.
//
// Life of an endpoint, in one thread of its rank at a time. Start-up, all ranks in step:
//   1. Transport::open    makes the endpoint of one rank of one communicator and whatever others need to find it.
//   2. Endpoint::facts    goes to all ranks.
//   3. Endpoint::reach    finds out, by trying where that is needed, which ranks it can reach.
//   4. The ranks exchange what they found, and all make the same plan of links.
//   5. Endpoint::connect  makes the links of the ring that are this transport's; called, too, where there are none, if
//      pair links may come. An endpoint that has nothing to do with either goes.
// Then, whenever a rank needs one, not in step:
//   6. Endpoint::request, take  make this rank's end of a link with any other.
// Ports need the segments and doorbells, not the endpoint, which may go before them.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "base/deadline.h"
#include "base/doorbell.h"
#include "base/event_loop.h"
#include "base/secret.h"
#include "base/settings.h"
#include "base/status.h"
#include "base/wire.h"
#include "link/arena.h"
#include "link/port.h"
#include "link/segment.h"

namespace ronde {

// Who asks: one rank of one communicator.
struct EndpointContext {
  uint64_t job = 0;
  Secret secret;
  int rank = 0;
  int nranks = 1;
  Settings settings;
  EventLoop* loop = nullptr;  // of the process; outlives the endpoint
  // Set when start-up has failed elsewhere: what blocks ends within 100 ms, with any result. Null: never. Only until
  // connect() has returned.
  const OnceFlag* stop = nullptr;

  [[nodiscard]] bool stopped() const { return stop != nullptr && stop->is_set(); }
};

// What is known of the ranks after step 2.
struct Peers {
  std::vector<Bytes> facts;      // by rank: what that rank's endpoint of this transport said; empty if it has none
  std::vector<int> local_index;  // by rank: its number among the ranks of this host, -1 on other hosts
  std::vector<bool> settled;     // by rank: a better transport reaches it already; no need to try. Empty: none
  std::vector<bool> pairs;       // by rank: pair links with it are this transport's. Empty: none. Known in step 5
  std::vector<bool> read_arena;  // by rank: it can read this process's arena. Empty: none can. Known in step 5
};

// This rank's memory and doorbell, made between steps 2 and 3.
struct OwnMemory {
  std::shared_ptr<Segment> segment;
  std::shared_ptr<Doorbell> doorbell;
  int black_box = -1;            // a file that a peer or two on this host keep open, too; -1: none
  std::shared_ptr<Arena> arena;  // of the process; null: it has none
};

// A peer's memory as this rank sees it, once a memory transport has reached it. Whoever uses ports over it keeps a
// copy.
struct PeerMemory {
  std::shared_ptr<Segment> segment;         // read-only in effect
  std::shared_ptr<const void> event_owner;  // keeps event_fd open
  int event_fd = -1;
  std::shared_ptr<const Fd> black_box;  // the peer's, from some; for whoever keeps it; until connect()
  std::shared_ptr<const Arena> arena;   // of the peer's process; null: it has none, or it cannot be read here
};

// Which links there are between two ranks.
enum class LinkKind : uint8_t {
  ring,  // from a position of the ring to the next; made in start-up
  pair,  // between any two; made on demand
};

struct LinkWish {
  LinkKind kind = LinkKind::ring;
  bool outgoing = false;
  int peer = 0;  // a rank
};

// A made link: exactly one of the two is set, by the wish's direction.
struct MadeLink {
  std::unique_ptr<SendPort> send;
  std::unique_ptr<ReceivePort> receive;
};

class Endpoint {
 public:
  virtual ~Endpoint() = default;

  // What other ranks' endpoints need to reach this one; at most 4 KiB. Does not block.
  [[nodiscard]] virtual Bytes facts() const = 0;

  // By rank: can this endpoint reach it? Called by all ranks in step, as peers may have to answer each other; blocks,
  // at most to the deadline. A peer that cannot be reached is no error. The own rank is never reached.
  virtual Result<std::vector<bool>> reach(const Peers& peers, const OwnMemory& own, Deadline deadline) = 0;

  // The memory of a rank that reach() has found; only of memory transports, else null.
  [[nodiscard]] virtual const PeerMemory* memory_of(int rank) const = 0;

  // Makes links of the ring, in the order of the wishes; all or none. Each wish has its counterpart on the peer in the
  // same step. Blocks, at most to the deadline. Errors name the peer and the cause. Ports of wires put their sockets
  // into the doorbell. Called once; from then on other ranks may ask for pair links with this one.
  virtual Result<std::vector<MadeLink>> connect(std::span<const LinkWish> wishes, const Peers& peers,
                                                const OwnMemory& own, Deadline deadline) = 0;

  // Asks for this rank's end of a pair link with one of peers.pairs; each end at most once. Does not block: the end is
  // there at once, or is made on other threads of this process; then the own doorbell is woken when it is there or has
  // failed. Of the peer a sending end needs no more than a process that runs, a receiving one also that the peer asks
  // for its end. Once `failed` is set, and when the endpoint goes, the making ends within 100 ms; the flag outlives the
  // endpoint.
  virtual void request(const LinkWish& wish, const OnceFlag* failed) = 0;

  // What was asked for, once: nothing while it is being made, else the link, or why there is none. Does not block.
  // Errors name the peer and the cause; a peer that cannot be reached is one after RONDE_INIT_TIMEOUT at most, one that
  // has not asked for its end yet never. The own doorbell gets the sockets of wires here.
  virtual std::optional<Result<MadeLink>> take(const LinkWish& wish) = 0;
};

class Transport {
 public:
  virtual ~Transport() = default;
  // As in RONDE_TRANSPORT.
  [[nodiscard]] virtual std::string_view name() const = 0;
  // True if ranks that it joins read each other's segments (windows are possible).
  [[nodiscard]] virtual bool shares_memory() const = 0;
  // Step 1. Any thread. Errors: what the system refused; the caller goes on without this transport if it can.
  virtual Result<std::unique_ptr<Endpoint>> open(const EndpointContext& context) = 0;
};

}  // namespace ronde
