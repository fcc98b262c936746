// The contract between the library and what carries bytes between two ranks. A specification; tests/conformance holds
// every transport to it.
//
// Life of an endpoint, all in one thread of its rank, all ranks in step:
//   1. Transport::open    makes the endpoint of one rank of one communicator and whatever others need to find it.
//   2. Endpoint::facts    goes to all ranks.
//   3. Endpoint::reach    finds out, by trying where that is needed, which ranks it can reach.
//   4. The ranks exchange what they found, and all make the same plan of links.
//   5. Endpoint::connect  makes the links of the plan that are this transport's.
// The endpoint may go once all ranks have returned from connect: ports need the segments and doorbells, not it.
#pragma once

#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "base/deadline.h"
#include "base/doorbell.h"
#include "base/secret.h"
#include "base/settings.h"
#include "base/status.h"
#include "base/wire.h"
#include "link/port.h"
#include "link/segment.h"

namespace ronde {

// Who asks: one rank of one communicator. The pointers outlive the endpoint.
struct EndpointContext {
  uint64_t job = 0;
  Secret secret;
  int rank = 0;
  int nranks = 1;
  const Settings* settings = nullptr;
  // Set when start-up has failed elsewhere: what blocks ends within 100 ms, with any result. Null: never.
  const OnceFlag* stop = nullptr;

  [[nodiscard]] bool stopped() const { return stop != nullptr && stop->is_set(); }
};

// What is known of the ranks after step 2.
struct Peers {
  std::vector<Bytes> facts;      // by rank: what that rank's endpoint of this transport said; empty if it has none
  std::vector<int> local_index;  // by rank: its number among the ranks of this host, -1 on other hosts
  std::vector<bool> settled;     // by rank: a better transport reaches it already; no need to try. Empty: none
};

// This rank's memory and doorbell, made between steps 2 and 3.
struct OwnMemory {
  std::shared_ptr<Segment> segment;
  std::shared_ptr<Doorbell> doorbell;
  int black_box = -1;  // a file that a peer or two on this host keep open, too; -1: none
};

// A peer's memory as this rank sees it, once a memory transport has reached it. Whoever uses ports over it keeps a copy.
struct PeerMemory {
  std::shared_ptr<Segment> segment;         // read-only in effect
  std::shared_ptr<const void> event_owner;  // keeps event_fd open
  int event_fd = -1;
  std::shared_ptr<const Fd> black_box;  // the peer's, from some; for whoever keeps it
};

// Which links there are between two ranks.
enum class LinkKind : uint8_t {
  ring,  // from a position of the ring to the next
  pair,  // between any two
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

  // By rank: can this endpoint reach it? Called by all ranks in step, as peers may have to answer each other; blocks, at
  // most to the deadline. A peer that cannot be reached is no error. The own rank is never reached.
  virtual Result<std::vector<bool>> reach(const Peers& peers, const OwnMemory& own, Deadline deadline) = 0;

  // The memory of a rank that reach() has found; only of memory transports, else null.
  [[nodiscard]] virtual const PeerMemory* memory_of(int rank) const = 0;

  // Makes the links, in the order of the wishes; all or none. Each wish has its counterpart on the peer in the same step.
  // Blocks, at most to the deadline. Errors name the peer and the cause. Ports of wires put their sockets into the
  // doorbell.
  virtual Result<std::vector<MadeLink>> connect(std::span<const LinkWish> wishes, const Peers& peers,
                                                const OwnMemory& own, Deadline deadline) = 0;
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
