// Host functions: users' functions that a stream runs in its order.
#include <atomic>
#include <catch2/catch.hpp>
#include <future>
#include <memory>
#include <thread>
#include <vector>

#include "runtime/stream_world.h"

namespace ronde::testing {

TEST_CASE("a host function runs in stream order, on one thread that is not the caller's") {
  const NoLostWakeUps no_lost;
  Worker worker;
  CopyStream stream(worker);
  constexpr size_t kSteps = 300;
  std::vector<int> values(kSteps + 1);
  std::atomic<int> wrong{0};
  std::thread::id thread;
  for (size_t i = 0; i < kSteps; ++i) {
    REQUIRE(stream.copy(values[i], values[i + 1]).ok());
    REQUIRE(stream.stream
                .call([&, i](const Status& status) {
                  if (i == 0) thread = std::this_thread::get_id();
                  if (!status.ok() || values[i + 1] != static_cast<int>(i) || thread != std::this_thread::get_id())
                    ++wrong;
                  ++values[i + 1];  // what follows reads it
                })
                .ok());
  }
  CHECK(stream.stream.synchronize().ok());
  CHECK(values.back() == static_cast<int>(kSteps));
  CHECK(wrong == 0);
  CHECK(thread != std::this_thread::get_id());
}

TEST_CASE("a host function is told the first error since the one before it") {
  Worker worker;
  Gate gate(worker);
  CopyStream stream(worker);
  int source = 1, target = 0;
  std::vector<rondeResult_t> told;
  std::string text;
  const auto tell = [&](const Status& status) {
    told.push_back(status.code());
    if (!status.ok()) text = status.message();
  };
  REQUIRE(stream.stream.call(tell).ok());
  gate.close(stream.stream);
  REQUIRE(stream.copy(source, target).ok());
  REQUIRE(stream.stream.call(tell).ok());
  REQUIRE(stream.stream.call(tell).ok());
  REQUIRE(stream.copy(source, target).ok());
  REQUIRE(stream.stream.call(tell).ok());
  gate.close(stream.stream);  // is refused as soon as it has failed
  REQUIRE(stream.stream.call(tell).ok());
  gate.abort();
  CHECK(stream.stream.synchronize().code() == rondeAborted);
  CHECK(told == std::vector{rondeSuccess, rondeAborted, rondeSuccess, rondeSuccess, rondeAborted});
  CHECK(text.find("rank 0") != std::string::npos);
  CHECK(stream.stream.synchronize().ok());
  REQUIRE(stream.stream.call(tell).ok());
  CHECK(stream.stream.synchronize().ok());
  CHECK(told.back() == rondeSuccess);
}

TEST_CASE("a host function holds its stream, and no other one") {
  const NoLostWakeUps no_lost;
  Worker worker;
  CopyStream held(worker), free(worker), waiting(worker);
  Event event(worker);
  int source = 4, a = 0, b = 0, c = 0;
  std::promise<void> end;
  std::promise<void> begun;
  REQUIRE(held.stream
              .call([&](const Status&) {
                begun.set_value();
                end.get_future().wait();
              })
              .ok());
  REQUIRE(held.copy(source, a).ok());
  REQUIRE(event.record(held.stream).ok());
  REQUIRE(waiting.stream.wait_for(event).ok());
  REQUIRE(waiting.copy(a, b).ok());
  begun.get_future().wait();
  REQUIRE(free.copy(source, c).ok());
  CHECK(free.stream.synchronize().ok());
  CHECK(held.stream.query().code() == rondeInProgress);
  CHECK(waiting.stream.query().code() == rondeInProgress);
  end.set_value();
  CHECK(waiting.stream.synchronize().ok());
  CHECK((a == 4 && b == 4 && c == 4));
}

TEST_CASE("many host functions of several streams run once each, in the order of their streams") {
  const NoLostWakeUps no_lost;
  Worker worker;
  constexpr int kStreams = 4;
  constexpr int kEach = 3000;
  std::vector<std::unique_ptr<Stream>> streams;
  for (int i = 0; i < kStreams; ++i) streams.push_back(std::make_unique<Stream>(worker));
  std::vector<int> called[kStreams];
  for (int i = 0; i < kEach; ++i) {
    for (size_t s = 0; s < kStreams; ++s)
      REQUIRE(streams[s]->call([&called, s, i](const Status&) { called[s].push_back(i); }).ok());
  }
  for (size_t s = 0; s < kStreams; ++s) {
    CHECK(streams[s]->synchronize().ok());
    REQUIRE(called[s].size() == kEach);
    for (int i = 0; i < kEach; ++i) REQUIRE(called[s][static_cast<size_t>(i)] == i);
  }
}

TEST_CASE("a host function may put more on streams; waits are refused in it") {
  Worker worker;
  Gate gate(worker);
  World world(world_of(1, "inproc"));
  REQUIRE(first_failure(world.made()).ok());
  Stream own(worker), other(worker), held(worker);
  Event event(worker), own_event(worker);
  gate.close(held);
  int in = 6, out = 0, more = 0;
  const OperationArgs args{&in, &out, 1, rondeInt32, rondeSum};
  std::vector<rondeResult_t> results;
  REQUIRE(own.call([&](const Status&) {
               results = {own.synchronize().code(),     other.synchronize().code(), event.record(other).code(),
                          event.synchronize().code(),   own.wait_for(event).code(), worker.wait_for(world[0]).code(),
                          other.wait_for(event).code(), other.query().code()};
               results.push_back(worker.enqueue(held, world[0], args).code());  // behind the gate
               results.push_back(worker.wait_for(world[0]).code());
               results.push_back(own.call([&](const Status&) { ++more; }).code());
             })
              .ok());
  CHECK(own_event.record(own).ok());
  CHECK(own_event.synchronize().ok());  // the function's own calls are on their way by now
  gate.open();
  CHECK(own.synchronize().ok());
  CHECK(other.synchronize().ok());
  CHECK(held.synchronize().ok());
  const rondeResult_t no = rondeInvalidUsage;
  REQUIRE(results.size() == 11);
  CHECK(out == 6);
  CHECK(more == 1);
  const rondeResult_t query = results[7];
  CHECK((query == rondeSuccess || query == rondeInProgress));
  results[7] = rondeSuccess;
  const rondeResult_t ok = rondeSuccess;
  CHECK(results == std::vector{no, no, ok, no, ok, ok, ok, ok, ok, no, ok});
}

TEST_CASE("a worker that ends calls no function any more, and waits for the one that runs") {
  auto worker = std::make_unique<Worker>();
  Stream stream(*worker), other(*worker);
  std::promise<void> begun;
  std::atomic<bool> ending{false};
  std::atomic<int> ended{0};
  REQUIRE(stream
              .call([&](const Status&) {
                begun.set_value();
                while (!ending) std::this_thread::yield();
                ++ended;
              })
              .ok());
  for (int i = 0; i < 10; ++i) {
    REQUIRE(stream.call([&](const Status&) { ended += 100; }).ok());
    REQUIRE(other.call([&](const Status&) { ended += 100; }).ok());
  }
  begun.get_future().wait();
  std::thread ender([&] { worker.reset(); });
  ending = true;
  ender.join();
  // Those of the other stream may have come before the end.
  CHECK(ended % 100 == 1);
}

}  // namespace ronde::testing
