// Links between any two ranks of a communicator: made on demand, for schedules and by hand.
#include "runtime/pair_links.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <functional>
#include <string>
#include <thread>

#include "base/crypto.h"
#include "bootstrap/rendezvous.h"
#include "runtime/all_reduce_model.h"
#include "runtime/make_communicator.h"
#include "support/open_resources.h"
#include "support/sanitizers.h"
#include "transports/built_in.h"

namespace ronde::testing {
namespace {

constexpr Call kSmallCall{rondeFloat32, rondeSum, 1000, false, 0};

WorldOptions world_of(int nranks, const std::string& transport, const std::string& algorithm) {
  WorldOptions options;
  options.nranks = nranks;
  options.settings = {{"RONDE_TRANSPORT", transport}, {"RONDE_ALGO", algorithm}};
  return options;
}

// Asks until the port is there.
template <typename Port>
Result<Port*> await(const std::function<Result<Port*>()>& ask) {
  const Deadline deadline = Deadline::after(Milliseconds(8000));
  while (!deadline.passed()) {
    Result<Port*> port = ask();
    if (!port.ok() || *port != nullptr) return port;
    std::this_thread::sleep_for(Milliseconds(1));
  }
  return Status(rondeTimedOut, "the link was not made");
}
Result<SendPort*> await_send(Communicator& comm, int to) {
  return await<SendPort>([&] { return comm.pairs().send_to(to); });
}
Result<ReceivePort*> await_receive(Communicator& comm, int from) {
  return await<ReceivePort>([&] { return comm.pairs().receive_from(from); });
}

Status pass_slice(SendPort& out, ReceivePort& in) {
  const SliceHead head{1, 2, 0, 64};
  std::byte* memory = out.acquire();
  if (memory == nullptr) return {rondeInternalError, "no room"};
  std::fill_n(memory, 64, std::byte{7});
  out.commit(head);
  const Deadline deadline = Deadline::after(Milliseconds(8000));
  const std::byte* found = nullptr;
  while (in.receive(head, &found) != Arrival::here) {
    if (deadline.passed()) return {rondeTimedOut, "the slice has not come"};
    out.advance();
  }
  const bool equal = std::all_of(found, found + 64, [](std::byte byte) { return byte == std::byte{7}; });
  in.release(head);
  return equal ? Status() : Status(rondeInternalError, "the slice is another one");
}

unsigned long long sent_by(Communicator& comm, const std::string& transport) {
  unsigned long long sent = 0;
  for (const TransportTraffic& traffic : comm.traffic()) {
    if (traffic.transport == transport) sent += traffic.sent.payload;
  }
  return sent;
}

// Communicators of all ranks as threads, in one process that goes on.
Status one_generation(Process& process, int nranks, const std::string& transport) {
  RONDE_ASSIGN(const uint64_t job, random_number<uint64_t>());
  RONDE_ASSIGN(const Secret secret, Secret::random());
  auto rendezvous = local_rendezvous(nranks);
  return first_failure(in_threads(nranks, [&](int rank) -> Status {
    CommunicatorOptions options;
    options.nranks = nranks;
    options.rank = rank;
    options.job = job;
    options.secret = secret;
    options.settings = test_settings({{"RONDE_TRANSPORT", transport}, {"RONDE_ALGO", "star"}});
    RONDE_ASSIGN(std::unique_ptr<Communicator> comm,
                 make_rank(process, std::move(options), std::move(rendezvous[static_cast<size_t>(rank)]),
                           Deadline::after(Milliseconds(20'000))));
    CallBuffers buffers(kSmallCall, rank, nranks);
    RONDE_TRY(comm->run(buffers.args()));
    return buffers.check();
  }));
}

}  // namespace

TEST_CASE("communicators that have used pair links leave no open file and no thread behind") {
  for (const std::string transport : {"inproc", "shm", "tcp"}) {
    CAPTURE(transport);
    Process process(built_in_transports());
    OpenResources before;
    for (int i = 0; i < 50; ++i) {
      const Status status = one_generation(process, 3, transport);
      INFO(status.message());
      REQUIRE(status.ok());
      if (i == 0) before = OpenResources::now();  // the service thread has started
    }
    CHECK(OpenResources::soon(before) == before);
  }
}

TEST_CASE("a pair link is made once, counted with its transport, and leaves the ring alone") {
  for (const std::string transport : {"inproc", "shm", "tcp"}) {
    CAPTURE(transport);
    World world(world_of(3, transport, "ring"));
    REQUIRE(first_failure(world.made()).ok());
    for (int from = 0; from < 3; ++from) {
      for (int to = 0; to < 3; ++to) {
        if (from == to) continue;
        const Result<SendPort*> out = await_send(world[from], to);
        const Result<ReceivePort*> in = await_receive(world[to], from);
        REQUIRE(out.ok());
        REQUIRE(in.ok());
        CHECK((*out)->peer() == to);
        CHECK((*in)->peer() == from);
        CHECK(pass_slice(**out, **in).ok());
        CHECK(*world[from].pairs().send_to(to) == *out);
        CHECK(*world[to].pairs().receive_from(from) == *in);
      }
    }
    CHECK(sent_by(world[1], transport) == 2 * 64);
    CHECK(run_calls(world, {kSmallCall}).ok());
  }
}

TEST_CASE("a rank that has left before its first pair link is named to who needs it") {
  for (const std::string transport : {"inproc", "tcp"}) {
    for (const int leaver : {0, 2}) {
      CAPTURE(transport, leaver);
      World world(world_of(3, transport, "star"));
      REQUIRE(first_failure(world.made()).ok());
      world.destroy(leaver);
      const Time begin = Clock::now();
      const auto statuses = in_threads(3, [&](int rank) -> Status {
        if (rank == leaver) return {};
        CallBuffers buffers(kSmallCall, rank, 3);
        return world[rank].run(buffers.args());
      });
      CHECK(Clock::now() - begin < Milliseconds(4000));
      for (int rank = 0; rank < 3; ++rank) {
        if (rank == leaver) continue;
        const Status& status = statuses[static_cast<size_t>(rank)];
        CHECK(status.code() == rondePeerLost);
        CHECK_THAT(status.message(), Catch::Contains("rank " + std::to_string(leaver)) && Catch::Contains("has left"));
      }
    }
  }
}

TEST_CASE("a communicator is destroyed at once while a pair link waits for its peer") {
  World world(world_of(2, "tcp", "ring"));
  REQUIRE(first_failure(world.made()).ok());
  const Result<ReceivePort*> in = world[0].pairs().receive_from(1);
  REQUIRE(in.ok());
  CHECK(*in == nullptr);
  REQUIRE(world[0].pairs().send_to(1).ok());
  const Time begin = Clock::now();
  for (const Status& status : in_threads(2, [&](int rank) -> Status {
         world.destroy(rank);
         return {};
       }))
    CHECK(status.ok());
  CHECK(Clock::now() - begin < at_once());
}

TEST_CASE("ranks of which a node has too many for pair links in memory use the next transport, or are told") {
  constexpr int kRanks = 258;
  for (const std::string transport : {"inproc,tcp", "inproc"}) {
    CAPTURE(transport);
    WorldOptions options = world_of(kRanks, transport, "ring");
    options.settings.emplace_back("RONDE_SPIN", "off");
    World world(options);
    const Status made = first_failure(world.made());
    INFO(made.message());
    REQUIRE(made.ok());
    for (const auto& [from, to] : {std::pair(0, 257), std::pair(200, 13)}) {
      const Result<SendPort*> out = await_send(world[from], to);
      const Result<ReceivePort*> in = await_receive(world[to], from);
      if (transport == "inproc") {
        for (const Status& status : {out.status(), in.status()}) {
          CHECK(status.code() == rondeInvalidUsage);
          CHECK_THAT(status.message(), Catch::Contains("258 ranks") && Catch::Contains("RONDE_TRANSPORT=auto or tcp"));
        }
        continue;
      }
      REQUIRE(out.ok());
      REQUIRE(in.ok());
      CHECK(pass_slice(**out, **in).ok());
      CHECK(sent_by(world[from], "tcp") == 64);
    }
  }
}

}  // namespace ronde::testing
