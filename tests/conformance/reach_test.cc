// Of the suite: finding each other and making links.
#include <catch2/catch.hpp>

#include "conformance/transport_suite.h"
#include "support/world.h"

namespace ronde::testing {
namespace {

std::vector<bool> all_but(int nranks, int rank) {
  std::vector<bool> reached(static_cast<size_t>(nranks), true);
  reached[static_cast<size_t>(rank)] = false;
  return reached;
}

}  // namespace

TEST_CASE("all ranks reach each other, and nobody itself") {
  for (const TransportUnderTest& subject : transports_under_test()) {
    for (int nranks = 2; nranks <= 4; ++nranks) {
      INFO(subject.name << ", " << nranks << " ranks");
      LinkWorld world(subject, nranks);
      const Status status = world.reach_all();
      INFO(status.message());
      REQUIRE(status.ok());
      for (int rank = 0; rank < nranks; ++rank) {
        CHECK(world[rank].endpoint->facts().size() <= 4096);
        CHECK(world[rank].reached == all_but(nranks, rank));
      }
    }
  }
}

TEST_CASE("ranks that share memory see each other's segments and doorbells, others do not") {
  for (const TransportUnderTest& subject : transports_under_test()) {
    INFO(subject.name);
    LinkWorld world(subject, 3);
    REQUIRE(world.reach_all().ok());
    CHECK(world[1].endpoint->memory_of(1) == nullptr);
    const PeerMemory* memory = world[1].endpoint->memory_of(2);
    REQUIRE((memory != nullptr) == world.transport().shares_memory());
    if (memory == nullptr) continue;
    publish(world[2].own.segment->words().published.value, 77);
    CHECK(observe(memory->segment->words().published.value) == 77);
    world[2].own.doorbell->announce(waits_for_rank(1));
    Ringer(&memory->segment->words().sleep, memory->event_fd, 1).ring();
    CHECK(world[2].own.doorbell->sleep(1000));
  }
}

TEST_CASE("links are made in the order of the wishes, to the peers wished for") {
  for (const TransportUnderTest& subject : transports_under_test()) {
    for (int nranks = 2; nranks <= 4; ++nranks) {
      INFO(subject.name << ", " << nranks << " ranks");
      LinkWorld world(subject, nranks);
      REQUIRE(world.reach_all().ok());
      const Status status = world.connect_all();
      INFO(status.message());
      REQUIRE(status.ok());
      for (int rank = 0; rank < nranks; ++rank) {
        const LinkWorld::Rank& self = world[rank];
        REQUIRE(self.links.size() == 2 * static_cast<size_t>(nranks));
        for (size_t i = 0; i < self.links.size(); ++i) {
          CHECK((self.links[i].send != nullptr) == self.made[i].outgoing);
          CHECK((self.links[i].receive != nullptr) != self.made[i].outgoing);
          const int peer = self.links[i].send ? self.links[i].send->peer() : self.links[i].receive->peer();
          CHECK(peer == self.made[i].peer);
        }
      }
    }
  }
}

TEST_CASE("links outlive their endpoints") {
  for (const TransportUnderTest& subject : transports_under_test()) {
    INFO(subject.name);
    LinkWorld world(subject, 2);
    REQUIRE(world.reach_all().ok());
    REQUIRE(world.connect_all().ok());
    std::vector<PeerMemory> kept;
    for (int rank = 0; rank < 2; ++rank) {
      const PeerMemory* memory = world[rank].endpoint->memory_of(1 - rank);
      if (memory != nullptr) kept.push_back(*memory);
      world[rank].endpoint.reset();
    }
    const std::vector<std::byte> payload = pattern(100, 1);
    const SliceHead head{1, 2, 0, 100};
    REQUIRE(send_slice(world.sender(LinkKind::ring, 0, 1), head, payload));
    const std::byte* found = nullptr;
    ReceivePort& port = world.receiver(LinkKind::ring, 0, 1);
    REQUIRE(receive_slice(port, world.sender(LinkKind::ring, 0, 1), head, &found) == Arrival::here);
    CHECK(std::equal(payload.begin(), payload.end(), found));
  }
}

TEST_CASE("a rank that cannot be reached is no error") {
  for (const TransportUnderTest& subject : transports_under_test()) {
    INFO(subject.name);
    LinkWorld world(subject, 3);
    // Ranks 0 and 2 are strangers to each other, as in two namespaces; both reach rank 1.
    world[0].peers.facts[2] = subject.unreachable(world[0].peers.facts[2]);
    world[2].peers.facts[0] = subject.unreachable(world[2].peers.facts[0]);
    const Status status = world.reach_all();
    INFO(status.message());
    REQUIRE(status.ok());
    CHECK(world[0].reached == std::vector<bool>{false, true, false});
    CHECK(world[1].reached == std::vector<bool>{true, false, true});
    CHECK(world[2].reached == std::vector<bool>{false, true, false});
    CHECK(world[0].endpoint->memory_of(2) == nullptr);
  }
}

TEST_CASE("a rank without an endpoint of this transport, or with unreadable facts, is not reached") {
  for (const TransportUnderTest& subject : transports_under_test()) {
    INFO(subject.name);
    LinkWorld world(subject, 2);
    world[0].peers.facts[1].clear();
    world[1].peers.facts[0].clear();
    REQUIRE(world.reach_all().ok());
    CHECK(world[0].reached == std::vector<bool>{false, false});
    CHECK(world[1].reached == std::vector<bool>{false, false});
  }
}

TEST_CASE("a rank that does not come costs no more than the deadline") {
  for (const TransportUnderTest& subject : transports_under_test()) {
    INFO(subject.name);
    LinkWorld world(subject, 2);
    const Time begin = Clock::now();
    const Status status = world.reach(0, Deadline::after(Milliseconds(200)));
    CHECK(Clock::now() - begin < Milliseconds(3000));
    if (status.ok()) continue;  // it was not reached, or that shows in connect
    CHECK(status.code() == rondeTimedOut);
    CHECK_THAT(status.message(), Catch::Contains("rank 1"));
  }
}

TEST_CASE("connect ends at its deadline and names the rank that is missing") {
  for (const TransportUnderTest& subject : transports_under_test()) {
    if (!subject.waits_to_connect) continue;
    for (const bool outgoing : {true, false}) {
      INFO(subject.name << (outgoing ? ", outgoing" : ", incoming"));
      LinkWorld world(subject, 3);
      REQUIRE(world.reach_all().ok());
      world[0].wishes = {{LinkKind::ring, outgoing, 2}};
      const Time begin = Clock::now();
      const Status status = world.connect(0, Deadline::after(Milliseconds(200)));
      CHECK(Clock::now() - begin < Milliseconds(3000));
      CHECK(status.code() == rondeTimedOut);
      CHECK_THAT(status.message(), Catch::Contains("rank 2"));
    }
  }
}

}  // namespace ronde::testing
