// Streams and the worker thread that runs their operations.
#include <catch2/catch.hpp>
#include <string>
#include <thread>

#include "runtime/all_reduce_model.h"
#include "runtime/stream_world.h"

namespace ronde::testing {
TEST_CASE("operations of one communicator run in call order, whatever stream they name") {
  for (const std::string transport : {"inproc", "shm", "tcp"}) {
    CAPTURE(transport);
    World world(world_of(3, transport));
    REQUIRE(first_failure(world.made()).ok());
    Worker& worker = world.process().worker();
    const auto statuses = world.run([&](Communicator& comm) -> Status {
      constexpr int kLinks = 10;  // each operation reads what the one before has written
      std::vector<std::vector<double>> values(kLinks + 1, std::vector<double>(2000));
      std::fill(values[0].begin(), values[0].end(), 1);
      Stream streams[2] = {Stream(worker), Stream(worker)};
      for (size_t i = 0; i < kLinks; ++i) {
        RONDE_TRY(worker.enqueue(streams[i % 2], comm,
                                 {values[i].data(), values[i + 1].data(), 2000, rondeFloat64, rondeSum}));
      }
      RONDE_TRY(streams[0].synchronize());
      RONDE_TRY(streams[1].synchronize());
      RONDE_TRY(streams[1].query());
      double expected = 1;
      for (const auto& one : values) {
        if (one != std::vector<double>(2000, expected)) return {rondeInternalError, "not in call order"};
        expected *= 3;
      }
      return {};
    });
    const Status failure = first_failure(statuses);
    INFO(failure.message());
    CHECK(failure.ok());
  }
}

TEST_CASE("streams of several communicators progress together, whatever the order on each rank") {
  World first(world_of(2, "inproc"));
  World second(world_of(2, "tcp"));
  REQUIRE(first_failure(first.made()).ok());
  REQUIRE(first_failure(second.made()).ok());
  Worker workers[2];  // as of two processes
  const auto statuses = in_threads(2, [&](int rank) -> Status {
    Worker& worker = workers[rank];
    Stream streams[2] = {Stream(worker), Stream(worker)};
    const Call call{rondeFloat32, rondeSum, 30'000, true, 0};
    std::vector<std::unique_ptr<CallBuffers>> buffers;
    for (int i = 0; i < 6; ++i) {
      World& world = i % 2 == rank ? first : second;
      buffers.push_back(std::make_unique<CallBuffers>(call, rank, 2));
      RONDE_TRY(worker.enqueue(streams[&world == &first ? 0 : 1], world[rank], buffers.back()->args()));
    }
    RONDE_TRY(streams[0].synchronize());
    RONDE_TRY(streams[1].synchronize());
    for (const auto& one : buffers) RONDE_TRY(one->check());
    return {};
  });
  const Status failure = first_failure(statuses);
  INFO(failure.message());
  CHECK(failure.ok());
}

TEST_CASE("what comes after an operation that cannot end yet ends beside it") {
  World late(world_of(2, "inproc"));
  World alone(world_of(1, "inproc"));
  World both(world_of(2, "shm"));
  for (World* world : {&late, &alone, &both}) REQUIRE(first_failure(world->made()).ok());
  Worker worker;
  std::vector<float> values[5] = {};
  for (auto& one : values) one.assign(100, 1);
  Stream streams[5] = {Stream(worker), Stream(worker), Stream(worker), Stream(worker), Stream(worker)};
  const auto enqueue = [&](size_t i, Communicator& comm) {
    return worker.enqueue(streams[i], comm, {values[i].data(), values[i].data(), 100, rondeFloat32, rondeSum});
  };
  REQUIRE(enqueue(0, late[0]).ok());
  wait_until_begun(worker);
  REQUIRE(enqueue(1, alone[0]).ok());
  CHECK(streams[1].synchronize().ok());
  REQUIRE(enqueue(2, both[0]).ok());
  REQUIRE(enqueue(3, both[1]).ok());
  CHECK(streams[2].synchronize().ok());
  CHECK(streams[3].synchronize().ok());
  CHECK(streams[0].query().code() == rondeInProgress);
  REQUIRE(enqueue(4, late[1]).ok());
  CHECK(streams[0].synchronize().ok());
  CHECK(streams[4].synchronize().ok());
  for (const size_t i : {0, 2, 3, 4}) CHECK(values[i] == std::vector<float>(100, 2));
  CHECK(values[1] == std::vector<float>(100, 1));
}

TEST_CASE("query tells what is in progress, synchronize waits for it") {
  World world(world_of(2, "inproc"));
  REQUIRE(first_failure(world.made()).ok());
  Worker& worker = world.process().worker();
  std::vector<float> values[2] = {std::vector<float>(10, 1), std::vector<float>(10, 1)};
  Stream streams[2] = {Stream(worker), Stream(worker)};
  const auto enqueue = [&](int rank) {
    float* data = values[rank].data();
    return worker.enqueue(streams[rank], world[rank], {data, data, 10, rondeFloat32, rondeSum});
  };
  CHECK(streams[0].query().ok());
  REQUIRE(enqueue(0).ok());
  wait_until_begun(worker);
  CHECK(streams[0].query().code() == rondeInProgress);
  REQUIRE(enqueue(1).ok());
  CHECK(streams[0].synchronize().ok());
  CHECK(streams[1].synchronize().ok());
  CHECK(streams[0].query().ok());
  CHECK(values[0] == std::vector<float>(10, 2));
  CHECK(values[1] == std::vector<float>(10, 2));
}

TEST_CASE("a call without a stream waits for what is queued") {
  World world(world_of(2, "inproc"));
  REQUIRE(first_failure(world.made()).ok());
  Worker& worker = world.process().worker();
  const auto statuses = world.run([&](Communicator& comm) -> Status {
    std::vector<float> values(5000, 1);
    Stream stream(worker);
    const OperationArgs args{values.data(), values.data(), 5000, rondeFloat32, rondeSum};
    for (int i = 0; i < 3; ++i) RONDE_TRY(worker.enqueue(stream, comm, args));
    RONDE_TRY(worker.wait_for(comm));
    RONDE_TRY(comm.run(args));
    if (values != std::vector<float>(5000, 16)) return {rondeInternalError, "not in call order"};
    return stream.query();
  });
  const Status failure = first_failure(statuses);
  INFO(failure.message());
  CHECK(failure.ok());
}

TEST_CASE("an error of a stream is returned once, and what follows it ends, too") {
  World world(world_of(2, "inproc"));
  REQUIRE(first_failure(world.made()).ok());
  Worker& worker = world.process().worker();
  std::vector<float> values(100, 1);
  Stream stream(worker);
  for (int i = 0; i < 3; ++i) {
    REQUIRE(worker.enqueue(stream, world[0], {values.data(), values.data(), 100, rondeFloat32, rondeSum}).ok());
  }
  wait_until_begun(worker);
  world[0].abort();
  CHECK(stream.synchronize().code() == rondeAborted);
  CHECK(stream.synchronize().ok());
  CHECK(stream.query().ok());
  REQUIRE(worker.enqueue(stream, world[0], {values.data(), values.data(), 100, rondeFloat32, rondeSum}).ok());
  CHECK(stream.synchronize().code() == rondeAborted);
}

TEST_CASE("an abort ends what is queued, on all streams, and what others queue meanwhile") {
  World world(world_of(2, "inproc"));
  REQUIRE(first_failure(world.made()).ok());
  Worker& worker = world.process().worker();
  std::vector<float> values(100, 1);
  const OperationArgs args{values.data(), values.data(), 100, rondeFloat32, rondeSum};
  Stream streams[3] = {Stream(worker), Stream(worker), Stream(worker)};
  for (int i = 0; i < 60; ++i) REQUIRE(worker.enqueue(streams[i % 3], world[0], args).ok());
  wait_until_begun(worker);
  std::thread aborter([&] { world[0].abort(); });
  for (int i = 0; i < 60; ++i) REQUIRE(worker.enqueue(streams[i % 3], world[0], args).ok());
  REQUIRE(worker.wait_for(world[0]).ok());
  for (Stream& stream : streams) CHECK(stream.query().code() == rondeAborted);
  aborter.join();
  CHECK(world[1].run(args).code() == rondeRemoteError);
}

TEST_CASE("a worker that ends gives up what has not ended") {
  World world(world_of(2, "inproc"));
  REQUIRE(first_failure(world.made()).ok());
  std::vector<float> values(100, 1);
  auto worker = std::make_unique<Worker>();
  Stream stream(*worker);
  REQUIRE(worker->enqueue(stream, world[0], {values.data(), values.data(), 100, rondeFloat32, rondeSum}).ok());
  wait_until_begun(*worker);
  worker.reset();
}

}  // namespace ronde::testing
