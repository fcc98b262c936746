// Events: streams that wait for moments in others.
#include <catch2/catch.hpp>
#include <memory>
#include <thread>
#include <vector>

#include "runtime/stream_world.h"

namespace ronde::testing {

TEST_CASE("a stream waits for an event of another one, and holds nobody else up") {
  const NoLostWakeUps no_lost;
  Worker worker;
  Gate gate(worker);
  CopyStream first(worker), second(worker), free(worker);
  Event event(worker);
  int source = 7, a = 0, b = 0, c = 0;
  gate.close(first.stream);
  REQUIRE(first.copy(source, a).ok());
  REQUIRE(event.record(first.stream).ok());
  REQUIRE(second.stream.wait_for(event).ok());
  REQUIRE(second.copy(a, b).ok());
  REQUIRE(free.copy(source, c).ok());
  CHECK(free.stream.synchronize().ok());
  CHECK(c == 7);
  CHECK_FALSE(event.reached());
  CHECK(first.stream.query().code() == rondeInProgress);
  CHECK(second.stream.query().code() == rondeInProgress);
  gate.open();
  CHECK(second.stream.synchronize().ok());
  CHECK(event.reached());
  CHECK(b == 7);
  CHECK(event.synchronize().ok());
  CHECK(first.stream.query().ok());
}

TEST_CASE("events order streams in both directions, in long chains, with one event for all") {
  const NoLostWakeUps no_lost;
  Worker worker;
  Gate gate(worker);
  std::vector<std::unique_ptr<CopyStream>> streams;
  for (int i = 0; i < 3; ++i) streams.push_back(std::make_unique<CopyStream>(worker));
  constexpr size_t kSteps = 3000;
  std::vector<int> values(kSteps + 1);
  values[0] = 5;
  const bool at_once = GENERATE(true, false);  // or while the first of them cannot end
  if (!at_once) gate.close(streams[0]->stream);
  Event event(worker);
  for (size_t i = 0; i < kSteps; ++i) {
    CopyStream& stream = *streams[i * i % 3 == 0 ? i / 2 % 3 : i % 3];
    REQUIRE(stream.stream.wait_for(event).ok());
    REQUIRE(stream.copy(values[i], values[i + 1]).ok());
    REQUIRE(event.record(stream.stream).ok());
  }
  if (!at_once) {
    CHECK_FALSE(event.reached());
    gate.open();
  }
  CHECK(event.synchronize().ok());
  CHECK(values == std::vector<int>(kSteps + 1, 5));
  for (const auto& one : streams) CHECK(one->stream.synchronize().ok());
}

TEST_CASE("many streams wait for one event") {
  Worker worker;
  Gate gate(worker);
  CopyStream first(worker);
  std::vector<std::unique_ptr<Stream>> waiting;
  gate.close(first.stream);
  Event event(worker);
  REQUIRE(event.record(first.stream).ok());
  for (int i = 0; i < 100; ++i) {
    waiting.push_back(std::make_unique<Stream>(worker));
    REQUIRE(waiting.back()->wait_for(event).ok());
  }
  for (const auto& one : waiting) CHECK(one->query().code() == rondeInProgress);
  gate.open();
  for (const auto& one : waiting) CHECK(one->synchronize().ok());
}

TEST_CASE("who waits for an event waits for the record of that time") {
  Worker worker;
  Gate gate(worker);
  Stream held(worker), waiting(worker), other(worker);
  Event event(worker);
  gate.close(held);
  REQUIRE(event.record(held).ok());
  REQUIRE(waiting.wait_for(event).ok());
  REQUIRE(event.record(other).ok());
  CHECK(event.synchronize().ok());
  CHECK(event.reached());
  wait_until_begun(worker);
  CHECK(waiting.query().code() == rondeInProgress);
  CHECK(other.wait_for(event).ok());
  CHECK(other.synchronize().ok());
  gate.open();
  CHECK(waiting.synchronize().ok());
}

TEST_CASE("an event that was never recorded is reached, and one of the own stream too") {
  Worker worker;
  Stream stream(worker);
  Event event(worker);
  CHECK(event.reached());
  CHECK(event.synchronize().ok());
  CHECK(stream.wait_for(event).ok());
  CHECK(stream.query().ok());
  for (int i = 0; i < 100; ++i) {
    REQUIRE(event.record(stream).ok());
    REQUIRE(stream.wait_for(event).ok());
  }
  CHECK(stream.synchronize().ok());
  CHECK(event.reached());
}

TEST_CASE("an event may go while a stream or a thread waits for it, and before its record is reached") {
  Worker worker;
  Gate gate(worker);
  CopyStream held(worker), waiting(worker);
  int source = 3, value = 0;
  gate.close(held.stream);
  {
    Event event(worker);
    REQUIRE(event.record(held.stream).ok());
    REQUIRE(waiting.stream.wait_for(event).ok());
  }
  REQUIRE(waiting.copy(source, value).ok());
  wait_until_begun(worker);
  CHECK(waiting.stream.query().code() == rondeInProgress);
  gate.open();
  CHECK(waiting.stream.synchronize().ok());
  CHECK(value == 3);
}

TEST_CASE("an error does not pass through an event") {
  Worker worker;
  Gate gate(worker);
  CopyStream failing(worker), waiting(worker);
  Event event(worker);
  int source = 3, value = 0;
  gate.close(failing.stream);
  REQUIRE(event.record(failing.stream).ok());
  REQUIRE(waiting.stream.wait_for(event).ok());
  REQUIRE(waiting.copy(source, value).ok());
  gate.abort();
  CHECK(waiting.stream.synchronize().ok());
  CHECK(value == 3);
  CHECK(event.synchronize().ok());
  CHECK(failing.stream.synchronize().code() == rondeAborted);
}

TEST_CASE("several threads wait for an event") {
  Worker worker;
  Gate gate(worker);
  Stream held(worker);
  Event event(worker);
  gate.close(held);
  REQUIRE(event.record(held).ok());
  std::atomic<int> begun{0};
  std::thread opener([&] {
    while (begun < 4) std::this_thread::yield();
    gate.open();
  });
  const auto statuses = in_threads(4, [&](int number) {
    ++begun;
    const Status status = number % 2 == 0 ? event.synchronize() : held.synchronize();
    return event.reached() ? status : Status(rondeInternalError, "not reached");
  });
  opener.join();
  CHECK(first_failure(statuses).ok());
}

}  // namespace ronde::testing
