// The suite that every transport is held to, as src/link/transport.h specifies it. A transport's own test file names
// itself in transports_under_test() and is linked with the suite.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "link/transport.h"
#include "support/fault_transport.h"

namespace ronde::testing {

inline constexpr Milliseconds kTestLimit{8000};

struct TransportUnderTest {
  std::string name;
  std::function<std::unique_ptr<Transport>()> make;
  std::vector<std::pair<std::string, std::string>> settings;
  bool notices_closing = false;   // a wire: a link whose other end is gone is broken
  bool waits_to_connect = false;  // connect() needs the peer's connect()
  // What the facts of a rank look like that this transport cannot reach.
  std::function<Bytes(const Bytes&)> unreachable;
};

// Defined by the transport's own test file.
std::vector<TransportUnderTest> transports_under_test();

// The transport as it is, and with links that delay, split and reorder.
std::vector<TransportUnderTest> with_faulty_variants(const TransportUnderTest& plain);

// Ranks of one communicator with their endpoints, all made by one transport. They may be driven by one thread: nothing
// but reach and connect blocks.
class LinkWorld {
 public:
  LinkWorld(const TransportUnderTest& subject, int nranks);

  struct Rank {
    OnceFlag failed;  // outlives the endpoint
    std::unique_ptr<Endpoint> endpoint;
    OwnMemory own;
    Peers peers;
    std::vector<bool> reached;
    std::vector<LinkWish> wishes;  // of the ring
    std::vector<LinkWish> made;    // beside links
    std::vector<MadeLink> links;
  };

  [[nodiscard]] int nranks() const { return static_cast<int>(ranks_.size()); }
  Rank& operator[](int rank) { return ranks_[static_cast<size_t>(rank)]; }
  Transport& transport() { return *transport_; }
  [[nodiscard]] uint64_t job() const { return job_; }
  [[nodiscard]] const Secret& secret() const { return secret_; }

  Status reach(int rank, Deadline deadline);
  Status connect(int rank, Deadline deadline);
  // All ranks in step: a ring, and pair links between all.
  Status reach_all();
  Status connect_all();

  // One end of a pair link: asks for it, and adds it to the made links once it is there.
  void request(int rank, int peer, bool outgoing);
  Status await(int rank, int peer, bool outgoing, Deadline deadline = Deadline::after(kTestLimit));
  // As when a communicator has failed.
  void fail(int rank) { (*this)[rank].failed.set(); }

  // Of the made links.
  SendPort& sender(LinkKind kind, int from, int to);
  ReceivePort& receiver(LinkKind kind, int from, int to);

 private:
  Status connect_pairs(int rank);
  MadeLink& find(int rank, const LinkWish& wish);

  EventLoop loop_;
  uint64_t job_ = 0;
  Secret secret_;
  std::unique_ptr<Transport> transport_;
  std::deque<Rank> ranks_;
};

// One end of a link that a test drives by hand. They give up after some seconds.
bool send_slice(SendPort& port, const SliceHead& head, const std::vector<std::byte>& payload);
Arrival receive_slice(ReceivePort& port, SendPort& other_end, const SliceHead& expected, const std::byte** payload);

// Bytes that tell where they stand.
std::vector<std::byte> pattern(size_t bytes, uint32_t seed);

}  // namespace ronde::testing
