// Pair links over TCP: peers that do not answer, are gone, or are strangers.
#include <sys/socket.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <thread>

#include "base/authenticated_stream.h"
#include "conformance/transport_suite.h"
#include "support/open_resources.h"
#include "support/sanitizers.h"
#include "support/world.h"
#include "transports/tcp/tcp.h"
#include "transports/tcp/tcp_intake.h"

namespace ronde::testing {
namespace {

TransportUnderTest tcp(const std::string& init_timeout = "300") {
  return {.name = "tcp", .make = make_tcp_transport, .settings = {{"RONDE_INIT_TIMEOUT", init_timeout}}};
}

// A listener that takes connections and never says anything, as the kernel of a stopped process does.
class SilentListener {
 public:
  SilentListener() : listener_(std::move(*listen_tcp(SocketAddress::parse("127.0.0.1", 0), 0))) {}
  [[nodiscard]] Bytes facts() const {
    Writer writer;
    writer.number(uint8_t{1});
    write_address(writer, *SocketAddress::parse("127.0.0.1", listener_.port));
    return writer.take();
  }

 private:
  Listener listener_;
};

std::vector<SocketAddress> addresses_in(const Bytes& facts) {
  Reader reader(facts);
  std::vector<SocketAddress> addresses(reader.number<uint8_t>());
  for (SocketAddress& address : addresses) address = *read_address(reader);
  return addresses;
}

// Two or more ranks after start-up without a ring; what they know of each other's addresses can be changed before.
class Pairs {
 public:
  explicit Pairs(const TransportUnderTest& subject, int nranks = 2) : world(subject, nranks) {
    for (int rank = 0; rank < nranks; ++rank) world[rank].wishes.clear();
  }
  void start() {
    REQUIRE(world.reach_all().ok());
    for (int rank = 0; rank < world.nranks(); ++rank)
      REQUIRE(world.connect(rank, Deadline::after(Milliseconds(0))).ok());
  }
  LinkWorld world;
};

Milliseconds since(Time begin) { return std::chrono::duration_cast<Milliseconds>(Clock::now() - begin); }

// Whether the other side has closed a connection.
bool is_closed_soon(int fd) {
  const Deadline deadline = Deadline::after(Milliseconds(2000));
  while (!deadline.passed()) {
    std::byte byte{};
    if (::recv(fd, &byte, 1, MSG_DONTWAIT) == 0) return true;
    std::this_thread::sleep_for(Milliseconds(2));
  }
  return false;
}

}  // namespace

TEST_CASE("an endpoint that goes while it connects ends that at once") {
  const SilentListener silent;
  const OpenResources before = OpenResources::now();
  for (int i = 0; i < 3; ++i) {
    Pairs pairs(tcp(), 3);
    pairs.world[0].peers.facts[1] = silent.facts();
    pairs.start();
    pairs.world.request(0, 1, true);
    pairs.world.request(0, 2, true);  // waits behind it
    std::this_thread::sleep_for(Milliseconds(10 * i));
    const Time begin = Clock::now();
    pairs.world[0].endpoint.reset();
    CHECK(since(begin) < at_once());
  }
  CHECK(OpenResources::soon(before) == before);
}

TEST_CASE("a communicator that fails while it connects ends that at once") {
  const SilentListener silent;
  Pairs pairs(tcp(), 3);
  pairs.world[0].peers.facts[1] = silent.facts();
  pairs.start();
  pairs.world.request(0, 1, true);
  pairs.world.request(0, 2, true);
  std::this_thread::sleep_for(Milliseconds(20));
  const Time begin = Clock::now();
  pairs.world.fail(0);
  for (const int peer : {1, 2}) {
    const Status status = pairs.world.await(0, peer, true);
    CHECK(status.code() == rondeTimedOut);
    CHECK_THAT(status.message(), Catch::Contains("rank " + std::to_string(peer)));
  }
  CHECK(since(begin) < at_once());
}

TEST_CASE("a peer that does not answer is an error of its link after RONDE_INIT_TIMEOUT") {
  const SilentListener silent;
  Pairs pairs(tcp("1"));
  pairs.world[0].peers.facts[1] = silent.facts();
  pairs.start();
  const Time begin = Clock::now();
  pairs.world.request(0, 1, true);
  const Status status = pairs.world.await(0, 1, true);
  CHECK(since(begin) >= Milliseconds(900));
  CHECK(since(begin) < Milliseconds(3000));
  CHECK(status.code() == rondeTimedOut);
  CHECK_THAT(status.message(), Catch::Contains("rank 1") && Catch::Contains("127.0.0.1:"));
}

TEST_CASE("a peer whose endpoint is gone is an error of its link at once, and of no other") {
  Pairs pairs(tcp(), 3);
  pairs.start();
  pairs.world[1].endpoint.reset();
  const Time begin = Clock::now();
  pairs.world.request(0, 1, true);
  pairs.world.request(0, 2, true);
  pairs.world.request(2, 0, false);
  const Status status = pairs.world.await(0, 1, true);
  CHECK(status.code() == rondePeerUnreachable);
  CHECK_THAT(status.message(),
             Catch::Contains("rank 1") && Catch::Contains("127.0.0.1:") && Catch::Contains("Connection refused"));
  CHECK(pairs.world.await(0, 2, true).ok());
  CHECK(pairs.world.await(2, 0, false).ok());
  CHECK(since(begin) < Milliseconds(1000));
}

TEST_CASE("a peer that goes after it was connected to breaks the link, also if nobody had asked for its end") {
  Pairs pairs(tcp());
  pairs.start();
  pairs.world.request(0, 1, true);
  REQUIRE(pairs.world.await(0, 1, true).ok());
  pairs.world[1].endpoint.reset();
  SendPort& out = pairs.world.sender(LinkKind::pair, 0, 1);
  const Deadline deadline = Deadline::after(kTestLimit);
  for (uint32_t slice = 0; out.broken() == nullptr && !deadline.passed(); ++slice) {
    (void)send_slice(out, {1, 2, slice % 1000, 100}, pattern(100, slice));
    std::this_thread::sleep_for(Milliseconds(1));
  }
  REQUIRE(out.broken() != nullptr);
  CHECK(out.broken()->code() == rondePeerLost);
  CHECK_THAT(out.broken()->message(), Catch::Contains("rank 1"));
}

TEST_CASE("strangers at the listener are refused, whenever they come") {
  Pairs pairs(tcp());
  pairs.start();
  const SocketAddress address = addresses_in(pairs.world[0].peers.facts[1]).front();
  std::vector<Fd> strangers;
  for (int i = 0; i < 10; ++i) {
    Result<Fd> stranger = start_connect(address);
    REQUIRE(stranger.ok());
    strangers.push_back(std::move(*stranger));
  }
  std::this_thread::sleep_for(Milliseconds(10));
  for (const Fd& stranger : strangers) (void)::send(stranger.get(), std::string(72, 'x').data(), 72, MSG_NOSIGNAL);

  Result<Secret> other = Secret::random();
  REQUIRE(other.ok());
  const Claim claim{.job = pairs.world.job(),
                    .role = Role::data,
                    .client_rank = 0,
                    .server_rank = 1,
                    .detail = tcp_detail(LinkKind::pair, 0)};
  CHECK_FALSE(dial({address}, *other, claim, "rank 1", {.deadline = Deadline::after(Milliseconds(300))}).ok());

  pairs.world.request(0, 1, true);
  pairs.world.request(1, 0, false);
  CHECK(pairs.world.await(0, 1, true).ok());
  CHECK(pairs.world.await(1, 0, false).ok());
  for (const Fd& stranger : strangers) CHECK(is_closed_soon(stranger.get()));
}

TEST_CASE("connections that are no link's are dropped; a second one before the link is made replaces the first") {
  Pairs pairs(tcp());
  pairs.start();
  const SocketAddress address = addresses_in(pairs.world[0].peers.facts[1]).front();
  const auto connect_as = [&](uint32_t rank, uint32_t detail) {
    const Claim claim{
        .job = pairs.world.job(), .role = Role::data, .client_rank = rank, .server_rank = 1, .detail = detail};
    Result<ProvedStream> stream =
        dial({address}, pairs.world.secret(), claim, "rank 1", {.deadline = Deadline::after(kTestLimit)});
    REQUIRE(stream.ok());
    return std::move(stream->fd);
  };
  for (const uint32_t rank : {1u, 2u, 4711u, 0xffffffffu})
    CHECK(is_closed_soon(connect_as(rank, tcp_detail(LinkKind::pair, 0)).get()));
  CHECK(is_closed_soon(connect_as(0, tcp_detail(LinkKind::pair, 1)).get()));
  CHECK(is_closed_soon(connect_as(0, tcp_detail(LinkKind::ring, 0)).get()));
  CHECK(is_closed_soon(connect_as(0, 77u << 16).get()));

  const Fd given_up = connect_as(0, tcp_detail(LinkKind::pair, 0));
  pairs.world.request(0, 1, true);
  REQUIRE(pairs.world.await(0, 1, true).ok());
  CHECK(is_closed_soon(given_up.get()));
  pairs.world.request(1, 0, false);
  REQUIRE(pairs.world.await(1, 0, false).ok());
  CHECK(is_closed_soon(connect_as(0, tcp_detail(LinkKind::pair, 0)).get()));

  const std::vector<std::byte> payload = pattern(100, 1);
  const SliceHead head{1, 2, 0, 100};
  SendPort& out = pairs.world.sender(LinkKind::pair, 0, 1);
  REQUIRE(send_slice(out, head, payload));
  const std::byte* found = nullptr;
  CHECK(receive_slice(pairs.world.receiver(LinkKind::pair, 0, 1), out, head, &found) == Arrival::here);
}

}  // namespace ronde::testing
