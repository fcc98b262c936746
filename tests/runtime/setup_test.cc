// Making communicators: what is refused, on all ranks and with a text that says why.
#include <catch2/catch.hpp>
#include <string>

#include "runtime/all_reduce_model.h"
#include "transports/built_in.h"
#include "transports/inproc/inproc.h"
#include "transports/tcp/tcp.h"

namespace ronde::testing {
namespace {

WorldOptions world_of(int nranks, const std::string& transport, const std::string& algorithm) {
  WorldOptions options;
  options.nranks = nranks;
  options.settings = {{"RONDE_TRANSPORT", transport}, {"RONDE_ALGO", algorithm}};
  return options;
}

void check_refused(const World& world, rondeResult_t code, const std::string& text) {
  for (const Status& status : world.made()) {
    CHECK(status.code() == code);
    CHECK_THAT(status.message(), Catch::Contains(text));
  }
}

std::vector<std::string> transports_of(Communicator& comm) {
  std::vector<std::string> names;
  for (const TransportTraffic& traffic : comm.traffic()) names.emplace_back(traffic.transport);
  return names;
}

enum class Step { reach, connect };

// A transport whose endpoint of rank 1 fails in one step of start-up, as if its process had died there.
class FailingTransport final : public Transport {
 public:
  FailingTransport(std::unique_ptr<Transport> inner, Step step) : inner_(std::move(inner)), step_(step) {}
  [[nodiscard]] std::string_view name() const override { return inner_->name(); }
  [[nodiscard]] bool shares_memory() const override { return inner_->shares_memory(); }
  Result<std::unique_ptr<Endpoint>> open(const EndpointContext& context) override {
    RONDE_ASSIGN(auto endpoint, inner_->open(context));
    if (context.rank != 1) return endpoint;
    return std::unique_ptr<Endpoint>(std::make_unique<FailingEndpoint>(std::move(endpoint), step_));
  }

 private:
  class FailingEndpoint final : public Endpoint {
   public:
    FailingEndpoint(std::unique_ptr<Endpoint> inner, Step step) : inner_(std::move(inner)), step_(step) {}
    [[nodiscard]] Bytes facts() const override { return inner_->facts(); }
    Result<std::vector<bool>> reach(const Peers& peers, const OwnMemory& own, Deadline deadline) override {
      if (step_ == Step::reach) return Status(rondeSystemError, "planted");
      return inner_->reach(peers, own, deadline);
    }
    [[nodiscard]] const PeerMemory* memory_of(int rank) const override { return inner_->memory_of(rank); }
    Result<std::vector<MadeLink>> connect(std::span<const LinkWish> wishes, const Peers& peers, const OwnMemory& own,
                                          Deadline deadline) override {
      if (step_ == Step::connect) return Status(rondeSystemError, "planted");
      return inner_->connect(wishes, peers, own, deadline);
    }
    void request(const LinkWish& wish, const OnceFlag* failed) override { inner_->request(wish, failed); }
    std::optional<Result<MadeLink>> take(const LinkWish& wish) override { return inner_->take(wish); }

   private:
    std::unique_ptr<Endpoint> inner_;
    Step step_;
  };

  std::unique_ptr<Transport> inner_;
  Step step_;
};

}  // namespace

TEST_CASE("what goes wrong on one rank in the middle of start-up ends it on all at once, with the cause") {
  for (const bool real_root : {false, true}) {
    for (const Step step : {Step::reach, Step::connect}) {
      for (const std::string transport : {"inproc", "shm", "tcp"}) {
        CAPTURE(real_root, step == Step::reach, transport);
        WorldOptions options = world_of(4, transport, "auto");
        options.real_root = real_root;
        options.transports = [step] {
          auto made = built_in_transports();
          for (auto& one : made) one = std::make_unique<FailingTransport>(std::move(one), step);
          return made;
        };
        const Time begin = Clock::now();
        World world(options);
        CHECK(Clock::now() - begin < Milliseconds(3000));  // far below the limit of start-up
        check_refused(world, rondeSystemError, "planted");
        for (const int rank : {0, 2, 3})
          CHECK_THAT(world.made()[static_cast<size_t>(rank)].message(), Catch::Contains("rank 1"));
      }
    }
  }
}

TEST_CASE("ranks of one process use inproc unless they are told another transport") {
  for (const std::string transport : {"auto", "inproc", "shm", "tcp"}) {
    CAPTURE(transport);
    World world(world_of(3, transport, "ring"));
    REQUIRE(first_failure(world.made()).ok());
    const std::string expected = transport == "auto" ? "inproc" : transport;
    for (int rank = 0; rank < 3; ++rank) {
      CHECK(transports_of(world[rank]) == std::vector<std::string>{expected});
    }
  }
}

TEST_CASE("windows without shared memory are refused with a way out") {
  for (const std::string algorithm : {"one_shot", "two_shot"}) {
    const World world(world_of(2, "tcp", algorithm));
    check_refused(world, rondeInvalidUsage, "use auto or ring");
  }
}

TEST_CASE("ranks that no transport joins are refused") {
  WorldOptions options = world_of(2, "shm", "auto");
  options.transports = [] {
    std::vector<std::unique_ptr<Transport>> transports;
    transports.push_back(make_inproc_transport());
    transports.push_back(make_tcp_transport());
    return transports;
  };
  const World world(options);
  check_refused(world, rondeInvalidUsage, "RONDE_TRANSPORT=shm");
}

TEST_CASE("a process beyond RONDE_SHM_LIMIT goes without shared memory") {
  WorldOptions options = world_of(2, "auto", "auto");
  options.settings.emplace_back("RONDE_SHM_LIMIT", "1000");
  options.transports = [] {  // as in two processes: no inproc
    auto all = built_in_transports();
    all.erase(all.begin());
    return all;
  };
  World world(options);
  REQUIRE(first_failure(world.made()).ok());
  REQUIRE(run_calls(world, {{rondeFloat32, rondeSum, 1000, false, 0}}).ok());
  CHECK(transports_of(world[0]) == std::vector<std::string>{"tcp"});
  CHECK(world.process().shared_memory().in_use() == 0);
}

TEST_CASE("shared memory counts as long as its communicator lives") {
  World world(world_of(2, "shm", "auto"));
  REQUIRE(first_failure(world.made()).ok());
  CHECK(world.process().shared_memory().in_use() > 0);
  world.destroy(0);
  world.destroy(1);
  CHECK(world.process().shared_memory().in_use() == 0);
}

TEST_CASE("a communicator of one rank needs nobody") {
  for (const std::string algorithm : {"auto", "one_shot", "two_shot", "ring", "star"}) {
    World world(world_of(1, "auto", algorithm));
    REQUIRE(first_failure(world.made()).ok());
    CHECK(run_calls(world, mixed_calls(1, 0, 1000)).ok());
  }
}

}  // namespace ronde::testing
