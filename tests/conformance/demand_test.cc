// Of the suite: pair links, which either end asks for when it needs it.
#include <algorithm>
#include <catch2/catch.hpp>
#include <random>
#include <thread>

#include "conformance/transport_suite.h"
#include "support/open_resources.h"
#include "support/world.h"

namespace ronde::testing {
namespace {

// Ranks whose endpoints are ready for pair links.
struct Ready {
  Ready(const TransportUnderTest& subject, int nranks) : world(subject, nranks) {
    REQUIRE(world.reach_all().ok());
    const Status status = first_failure(
        in_threads(nranks, [this](int rank) { return world.connect(rank, Deadline::after(kTestLimit)); }));
    INFO(status.message());
    REQUIRE(status.ok());
  }
  LinkWorld world;
};

void require_await(LinkWorld& world, int rank, int peer, bool outgoing) {
  CAPTURE(rank, peer, outgoing);
  const Status status = world.await(rank, peer, outgoing);
  INFO(status.message());
  REQUIRE(status.ok());
}

void check_slice(LinkWorld& world, int from, int to, uint32_t number) {
  CAPTURE(from, to, number);
  const std::vector<std::byte> payload = pattern(1000, number);
  const SliceHead head{1, 2, number, 1000};
  SendPort& out = world.sender(LinkKind::pair, from, to);
  ReceivePort& in = world.receiver(LinkKind::pair, from, to);
  REQUIRE(send_slice(out, head, payload));
  const std::byte* found = nullptr;
  REQUIRE(receive_slice(in, out, head, &found) == Arrival::here);
  CHECK(std::equal(payload.begin(), payload.end(), found));
  in.release(head);
}

}  // namespace

TEST_CASE("the sending end of a pair link stands, and takes slices, before the peer asks for its own") {
  for (const TransportUnderTest& subject : transports_under_test()) {
    INFO(subject.name);
    Ready ready(subject, 2);
    ready.world.request(0, 1, true);
    require_await(ready.world, 0, 1, true);
    const std::vector<std::byte> payload = pattern(500, 4);
    const SliceHead head{1, 2, 0, 500};
    REQUIRE(send_slice(ready.world.sender(LinkKind::pair, 0, 1), head, payload));
    ready.world.request(1, 0, false);
    require_await(ready.world, 1, 0, false);
    const std::byte* found = nullptr;
    ReceivePort& in = ready.world.receiver(LinkKind::pair, 0, 1);
    REQUIRE(receive_slice(in, ready.world.sender(LinkKind::pair, 0, 1), head, &found) == Arrival::here);
    CHECK(std::equal(payload.begin(), payload.end(), found));
    in.release(head);
    check_slice(ready.world, 0, 1, 1);
  }
}

TEST_CASE("the receiving end of a pair link may be asked for first") {
  for (const TransportUnderTest& subject : transports_under_test()) {
    INFO(subject.name);
    Ready ready(subject, 2);
    ready.world.request(1, 0, false);
    if (subject.waits_to_connect) {
      CHECK(ready.world.await(1, 0, false, Deadline::after(Milliseconds(30))).code() == rondeTimedOut);
    }
    ready.world.request(0, 1, true);
    require_await(ready.world, 1, 0, false);
    require_await(ready.world, 0, 1, true);
    check_slice(ready.world, 0, 1, 0);
  }
}

TEST_CASE("both ranks ask for both of their ends at once") {
  for (const TransportUnderTest& subject : transports_under_test()) {
    INFO(subject.name);
    Ready ready(subject, 2);
    const Status status = first_failure(in_threads(2, [&](int rank) -> Status {
      for (const bool outgoing : {true, false}) ready.world.request(rank, 1 - rank, outgoing);
      RONDE_TRY(ready.world.await(rank, 1 - rank, false));
      return ready.world.await(rank, 1 - rank, true);
    }));
    INFO(status.message());
    REQUIRE(status.ok());
    for (const int from : {0, 1}) check_slice(ready.world, from, 1 - from, 0);
  }
}

TEST_CASE("pair links with many peers may be asked for in any order") {
  constexpr int kRanks = 6;
  struct Ask {
    int rank;
    int peer;
    bool outgoing;
  };
  std::mt19937 random(5);
  for (const TransportUnderTest& subject : transports_under_test()) {
    INFO(subject.name);
    Ready ready(subject, kRanks);
    std::vector<Ask> asks;
    for (int rank = 0; rank < kRanks; ++rank) {
      for (int peer = 0; peer < kRanks; ++peer) {
        if (peer == rank) continue;
        asks.push_back({rank, peer, true});
        asks.push_back({rank, peer, false});
      }
    }
    std::shuffle(asks.begin(), asks.end(), random);
    for (const Ask& ask : asks) {
      ready.world.request(ask.rank, ask.peer, ask.outgoing);
      if (random() % 4 == 0) std::this_thread::sleep_for(Milliseconds(1));
    }
    std::shuffle(asks.begin(), asks.end(), random);
    for (const Ask& ask : asks) require_await(ready.world, ask.rank, ask.peer, ask.outgoing);
    for (int from = 0; from < kRanks; ++from) {
      for (int to = 0; to < kRanks; ++to) {
        if (from != to) check_slice(ready.world, from, to, static_cast<uint32_t>(from * kRanks + to));
      }
    }
  }
}

TEST_CASE("pair links that only one end has asked for leave nothing behind") {
  for (const TransportUnderTest& subject : transports_under_test()) {
    INFO(subject.name);
    const OpenResources before = OpenResources::now();
    {
      Ready ready(subject, 3);
      ready.world.request(0, 1, true);   // taken, never met
      ready.world.request(2, 1, true);   // not even taken
      ready.world.request(0, 2, false);  // never comes
      require_await(ready.world, 0, 1, true);
    }
    CHECK(OpenResources::soon(before) == before);
  }
}

TEST_CASE("pair links outlive their endpoints") {
  for (const TransportUnderTest& subject : transports_under_test()) {
    INFO(subject.name);
    Ready ready(subject, 2);
    ready.world.request(0, 1, true);
    ready.world.request(1, 0, false);
    require_await(ready.world, 0, 1, true);
    require_await(ready.world, 1, 0, false);
    std::vector<PeerMemory> kept;
    for (int rank = 0; rank < 2; ++rank) {
      const PeerMemory* memory = ready.world[rank].endpoint->memory_of(1 - rank);
      if (memory != nullptr) kept.push_back(*memory);
      ready.world[rank].endpoint.reset();
    }
    check_slice(ready.world, 0, 1, 0);
  }
}

}  // namespace ronde::testing
