#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>

#include "conformance/transport_suite.h"
#include "support/world.h"

namespace ronde::testing {
namespace {

void require(const Status& status) {
  if (status.ok()) return;
  std::fprintf(stderr, "test cannot start: %s\n", status.message().c_str());
  std::abort();
}

template <typename T>
T require_value(Result<T> result) {
  require(result.status());
  return std::move(*result);
}

TransportUnderTest faulty(const TransportUnderTest& plain, const std::string& what, const Faults& faults) {
  TransportUnderTest variant = plain;
  variant.name += ", " + what;
  variant.make = [make = plain.make, faults] { return make_fault_transport(make(), faults); };
  return variant;
}

}  // namespace

std::vector<TransportUnderTest> with_faulty_variants(const TransportUnderTest& plain) {
  return {plain, faulty(plain, "late", {.seed = 11, .delays = 3}), faulty(plain, "split", {.seed = 12, .splits = true}),
          faulty(plain, "late, split and reordered", {.seed = 13, .delays = 2, .splits = true, .reorders = true})};
}

LinkWorld::LinkWorld(const TransportUnderTest& subject, int nranks) : transport_(subject.make()) {
  EndpointContext context{.nranks = nranks, .settings = test_settings(subject.settings), .loop = &loop_};
  context.job = job_ = require_value(random_number<uint64_t>());
  Result<Secret> secret = Secret::random();
  require(secret.status());
  context.secret = secret_ = *secret;
  std::vector<Bytes> facts;
  for (int rank = 0; rank < nranks; ++rank) {
    context.rank = rank;
    Rank& made = ranks_.emplace_back();
    made.endpoint = require_value(transport_->open(context));
    made.own.segment = require_value(Segment::create(SegmentLayout::for_ranks(nranks), true));
    made.own.doorbell = require_value(Doorbell::create(&made.own.segment->words().sleep));
    facts.push_back(made.endpoint->facts());
  }
  for (int rank = 0; rank < nranks; ++rank) {
    Rank& self = (*this)[rank];
    self.peers.facts = facts;
    self.peers.settled.resize(facts.size());
    self.peers.pairs.resize(facts.size(), true);
    self.peers.pairs[static_cast<size_t>(rank)] = false;
    for (int other = 0; other < nranks; ++other) self.peers.local_index.push_back(other);
    self.wishes = {{LinkKind::ring, true, (rank + 1) % nranks}, {LinkKind::ring, false, (rank + nranks - 1) % nranks}};
  }
}

Status LinkWorld::reach(int rank, Deadline deadline) {
  Rank& self = (*this)[rank];
  RONDE_ASSIGN(self.reached, self.endpoint->reach(self.peers, self.own, deadline));
  return {};
}

Status LinkWorld::connect(int rank, Deadline deadline) {
  Rank& self = (*this)[rank];
  RONDE_ASSIGN(self.links, self.endpoint->connect(self.wishes, self.peers, self.own, deadline));
  self.made = self.wishes;
  return {};
}

void LinkWorld::request(int rank, int peer, bool outgoing) {
  Rank& self = (*this)[rank];
  self.endpoint->request({LinkKind::pair, outgoing, peer}, &self.failed);
}

// As a task would: announces what it waits for, looks, sleeps.
Status LinkWorld::await(int rank, int peer, bool outgoing, Deadline deadline) {
  Rank& self = (*this)[rank];
  const LinkWish wish{LinkKind::pair, outgoing, peer};
  while (!deadline.passed()) {
    self.own.doorbell->announce(waits_for_rank(peer));
    std::optional<Result<MadeLink>> made = self.endpoint->take(wish);
    if (!made) self.own.doorbell->sleep(deadline.poll_timeout(Clock::now(), 60'000));
    self.own.doorbell->withdraw();
    if (!made) continue;
    RONDE_TRY(*made);
    self.made.push_back(wish);
    self.links.push_back(std::move(**made));
    return {};
  }
  return {rondeTimedOut, fmt::format("rank {} has no link {} rank {}", rank, outgoing ? "to" : "from", peer)};
}

Status LinkWorld::connect_pairs(int rank) {
  for (const bool outgoing : {true, false}) {
    for (int peer = 0; peer < nranks(); ++peer) {
      if (peer != rank) request(rank, peer, outgoing);
    }
  }
  for (int peer = 0; peer < nranks(); ++peer) {
    if (peer == rank) continue;
    RONDE_TRY(await(rank, peer, true));
    RONDE_TRY(await(rank, peer, false));
  }
  return {};
}

Status LinkWorld::reach_all() {
  return first_failure(in_threads(nranks(), [this](int rank) { return reach(rank, Deadline::after(kTestLimit)); }));
}

Status LinkWorld::connect_all() {
  RONDE_TRY(
      first_failure(in_threads(nranks(), [this](int rank) { return connect(rank, Deadline::after(kTestLimit)); })));
  return first_failure(in_threads(nranks(), [this](int rank) { return connect_pairs(rank); }));
}

MadeLink& LinkWorld::find(int rank, const LinkWish& wish) {
  Rank& self = (*this)[rank];
  for (size_t i = 0; i < self.made.size(); ++i) {
    const LinkWish& one = self.made[i];
    if (one.kind == wish.kind && one.outgoing == wish.outgoing && one.peer == wish.peer) return self.links.at(i);
  }
  std::abort();
}

SendPort& LinkWorld::sender(LinkKind kind, int from, int to) { return *find(from, {kind, true, to}).send; }
ReceivePort& LinkWorld::receiver(LinkKind kind, int from, int to) { return *find(to, {kind, false, from}).receive; }

bool send_slice(SendPort& port, const SliceHead& head, const std::vector<std::byte>& payload) {
  const Deadline deadline = Deadline::after(kTestLimit);
  std::byte* memory = nullptr;
  while ((memory = port.acquire()) == nullptr) {
    if (deadline.passed()) return false;
    port.advance();
  }
  std::copy(payload.begin(), payload.end(), memory);
  port.commit(head);
  return true;
}

Arrival receive_slice(ReceivePort& port, SendPort& other_end, const SliceHead& expected, const std::byte** payload) {
  const Deadline deadline = Deadline::after(kTestLimit);
  for (;;) {
    const Arrival arrival = port.receive(expected, payload);
    if (arrival != Arrival::none || deadline.passed()) return arrival;
    other_end.advance();
    std::this_thread::yield();
  }
}

std::vector<std::byte> pattern(size_t bytes, uint32_t seed) {
  std::vector<std::byte> result(bytes);
  uint32_t state = seed * 2654435761u + 1;
  for (std::byte& byte : result) {
    state = state * 1664525u + 1013904223u;
    byte = static_cast<std::byte>(state >> 24);
  }
  return result;
}

}  // namespace ronde::testing
