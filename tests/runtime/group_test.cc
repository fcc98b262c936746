#include "runtime/group.h"

#include <catch2/catch.hpp>
#include <string>

#include "runtime/all_reduce_model.h"

namespace ronde::testing {
namespace {

constexpr Call kCall{rondeFloat32, rondeSum, 5000, false, 0};

std::unique_ptr<World> make_world(int nranks, const std::string& transport) {
  WorldOptions options;
  options.nranks = nranks;
  options.settings = {{"RONDE_TRANSPORT", transport}};
  auto world = std::make_unique<World>(options);
  REQUIRE(first_failure(world->made()).ok());
  return world;
}

// Calls with what they work on.
struct Calls {
  void add(Communicator& comm, Stream* stream, const Call& call) {
    buffers.push_back(std::make_unique<CallBuffers>(call, comm.rank(), comm.nranks()));
    calls.push_back({&comm, stream, buffers.back()->args()});
  }
  [[nodiscard]] Status check() const {
    for (const auto& one : buffers) RONDE_TRY(one->check());
    return {};
  }
  std::vector<std::unique_ptr<CallBuffers>> buffers;
  std::vector<GroupCall> calls;
};

}  // namespace

TEST_CASE("a group drives several communicators of one thread together, in any order of ranks") {
  for (const std::string transport : {"inproc", "tcp"}) {
    CAPTURE(transport);
    std::vector<std::unique_ptr<World>> worlds;
    for (int i = 0; i < 3; ++i) worlds.push_back(make_world(3, transport));
    Worker worker;
    const Status status = first_failure(in_threads(3, [&](int rank) -> Status {
      Calls calls;
      for (int i = 0; i < 3; ++i) {  // each rank begins with another communicator: without a group this stands still
        for (int times = 0; times < 2; ++times)
          calls.add((*worlds[static_cast<size_t>((i + rank) % 3)])[rank], nullptr, kCall);
      }
      RONDE_TRY(run_group(calls.calls, worker));
      return calls.check();
    }));
    INFO(status.message());
    CHECK(status.ok());
  }
}

TEST_CASE("a group drives all ranks of a communicator in one thread") {
  for (const std::string transport : {"inproc", "shm", "tcp"}) {
    CAPTURE(transport);
    const auto world = make_world(4, transport);
    Worker worker;
    const uint64_t lost_before = lost_wakeups();
    for (int times = 0; times < 20; ++times) {
      Calls calls;
      for (int rank = 0; rank < 4; ++rank) calls.add((*world)[rank], nullptr, kCall);
      REQUIRE(run_group(calls.calls, worker).ok());
      REQUIRE(calls.check().ok());
    }
    CHECK(lost_wakeups() == lost_before);
  }
}

TEST_CASE("a group keeps the order of calls with and without a stream") {
  const auto world = make_world(2, "inproc");
  const Status status = first_failure(in_threads(2, [&](int rank) -> Status {
    Worker worker;
    Stream stream(worker);
    // x -> y by the stream, y -> z here, z -> w by the stream.
    std::vector<float> x(100, 1), y(100), z(100), w(100);
    Communicator& comm = (*world)[rank];
    const std::vector<GroupCall> calls = {{&comm, &stream, {x.data(), y.data(), 100, rondeFloat32, rondeSum}},
                                          {&comm, nullptr, {y.data(), z.data(), 100, rondeFloat32, rondeSum}},
                                          {&comm, &stream, {z.data(), w.data(), 100, rondeFloat32, rondeSum}}};
    RONDE_TRY(run_group(calls, worker));
    const bool here = y == std::vector<float>(100, 2) && z == std::vector<float>(100, 4);
    RONDE_TRY(stream.synchronize());
    if (here && w == std::vector<float>(100, 8)) return {};
    return {rondeInternalError, "the calls did not run in their order"};
  }));
  INFO(status.message());
  CHECK(status.ok());
}

TEST_CASE("an error in a group is returned, and the other communicators end their calls") {
  const auto good = make_world(2, "inproc");
  const auto bad = make_world(2, "inproc");
  (*bad)[0].abort();
  const auto statuses = in_threads(2, [&](int rank) -> Status {
    Worker worker;
    Calls calls;
    calls.add((*bad)[rank], nullptr, kCall);
    calls.add((*good)[rank], nullptr, kCall);
    const Status status = run_group(calls.calls, worker);
    RONDE_TRY(calls.buffers[1]->check());
    return status;
  });
  CHECK(statuses[0].code() == rondeAborted);
  CHECK(statuses[1].code() == rondeRemoteError);
}

TEST_CASE("an empty group is fine") {
  Worker worker;
  CHECK(run_group({}, worker).ok());
}

}  // namespace ronde::testing
