// Several threads that put things on the same streams at a time, in random order.
#include <array>
#include <atomic>
#include <catch2/catch.hpp>
#include <deque>
#include <memory>
#include <mutex>
#include <random>
#include <thread>
#include <vector>

#include "runtime/communicator.h"
#include "runtime/stream_world.h"
#include "support/how_many.h"

namespace ronde::testing {
namespace {

constexpr int kThreads = 4;
constexpr size_t kStreams = 5;
constexpr size_t kEvents = 3;

struct Shared {
  Worker worker;
  std::vector<std::unique_ptr<Stream>> streams;
  std::vector<std::unique_ptr<Event>> events;
  std::atomic<int> functions_called{0};
};

// A communicator of one rank: each operation copies the result of the one before.
class Chain {
 public:
  explicit Chain(int start) : world_(world_of(1, "inproc")), values_{start} {}
  Status go_on(Shared& shared, Stream& stream) {
    const int& from = values_.back();
    int& to = values_.emplace_back(-1);
    return shared.worker.enqueue(stream, world_[0], {&from, &to, 1, rondeInt32, rondeSum});
  }
  // Where everything has ended.
  [[nodiscard]] Status check() const {
    for (const int value : values_) {
      if (value != values_.front()) return {rondeInternalError, "not in call order"};
    }
    return {};
  }
  Communicator& communicator() { return world_[0]; }

 private:
  World world_;
  std::deque<int> values_;  // which stay where they are
};

// Used by all threads, one at a time.
struct SharedChain {
  std::mutex mutex;
  Chain chain{77};
};

// Two ranks on two streams of their own.
class Pair {
 public:
  explicit Pair(Worker& worker) : world_(world_of(2, "inproc")), worker_(worker) {}
  Status go_on(int rank) {
    ++called_[static_cast<size_t>(rank)];
    double* value = values_.data() + rank;
    return worker_.enqueue(streams_[static_cast<size_t>(rank)], world_[rank],
                           {value, value, 1, rondeFloat64, rondeMax});
  }
  // Ends what only one of them has called.
  Status end() {
    while (called_[0] < called_[1]) RONDE_TRY(go_on(0));
    while (called_[1] < called_[0]) RONDE_TRY(go_on(1));
    for (Stream& stream : streams_) RONDE_TRY(stream.synchronize());
    if (called_[0] == 0 || (values_[0] == 2 && values_[1] == 2)) return {};
    return {rondeInternalError, "a wrong maximum"};
  }

 private:
  World world_;
  Worker& worker_;
  Stream streams_[2] = {Stream(worker_), Stream(worker_)};
  std::array<double, 2> values_{1, 2};
  std::array<int, 2> called_{};
};

struct Thread {
  Thread(Shared& all, SharedChain& common, uint64_t seed) : shared(all), shared_chain(common), random(seed) {}

  Status step() {
    Stream& stream = *shared.streams[random() % kStreams];
    Event& event = *shared.events[random() % kEvents];
    switch (random() % 9) {
      case 0: return event.record(stream);
      case 1: return stream.wait_for(event);
      case 2: ++functions; return stream.call([this](const Status&) { ++shared.functions_called; });
      case 3: return pair.go_on(static_cast<int>(random() % 2));
      case 4: {
        const std::scoped_lock lock(shared_chain.mutex);
        return shared_chain.chain.go_on(shared, stream);
      }
      case 5:
        if (random() % 10 > 0) return {};
        return random() % 2 == 0 ? stream.synchronize() : event.synchronize();
      case 6:
        if (random() % 10 > 0) return {};
        return shared.worker.wait_for(chains[0].communicator());
      default: return chains[random() % 2].go_on(shared, stream);
    }
  }

  Shared& shared;
  SharedChain& shared_chain;
  std::mt19937_64 random;
  Chain chains[2] = {Chain(1), Chain(2)};
  Pair pair{shared.worker};
  int functions = 0;
};

Status steps_at_random(Thread& thread, int steps) {
  for (int i = 0; i < steps; ++i) RONDE_TRY(thread.step());
  for (const auto& stream : thread.shared.streams) RONDE_TRY(stream->synchronize());
  for (const Chain& chain : thread.chains) RONDE_TRY(chain.check());
  return thread.pair.end();
}

}  // namespace

TEST_CASE("threads that share streams and events, at random: results are right, and everything ends") {
  const NoLostWakeUps no_lost;
  const uint64_t rounds = how_many("TEST_SEEDS", 3);
  for (uint64_t round = 0; round < rounds; ++round) {
    CAPTURE(round);
    Shared shared;
    for (size_t i = 0; i < kStreams; ++i) shared.streams.push_back(std::make_unique<Stream>(shared.worker));
    for (size_t i = 0; i < kEvents; ++i) shared.events.push_back(std::make_unique<Event>(shared.worker));
    SharedChain shared_chain;
    std::vector<std::unique_ptr<Thread>> threads;
    for (uint64_t i = 0; i < kThreads; ++i)
      threads.push_back(std::make_unique<Thread>(shared, shared_chain, round * kThreads + i));
    const Status status = first_failure(
        in_threads(kThreads, [&](int i) { return steps_at_random(*threads[static_cast<size_t>(i)], 700); }));
    INFO(status.message());
    REQUIRE(status.ok());
    int functions = 0;
    for (const auto& thread : threads) functions += thread->functions;
    CHECK(shared.functions_called == functions);
    CHECK(shared_chain.chain.check().ok());
    for (const auto& stream : shared.streams) CHECK(stream->query().ok());
    for (const auto& event : shared.events) CHECK(event->reached());
  }
}

TEST_CASE("a stream and its communicator may go as soon as they are done, while others are busy") {
  Worker worker;
  const auto statuses = in_threads(kThreads, [&](int number) -> Status {
    for (int i = 0; i < 200; ++i) {
      Chain chain(i);
      int in = i, out = -1;
      Stream stream(worker);
      RONDE_TRY(worker.enqueue(stream, chain.communicator(), {&in, &out, 1, rondeInt32, rondeSum}));
      if ((i + number) % 2 == 0) {
        RONDE_TRY(worker.wait_for(chain.communicator()));
        RONDE_TRY(stream.query());
      } else {
        RONDE_TRY(stream.synchronize());
        RONDE_TRY(worker.wait_for(chain.communicator()));
      }
      if (out != i) return {rondeInternalError, "a wrong result"};
    }
    return {};
  });
  const Status status = first_failure(statuses);
  INFO(status.message());
  CHECK(status.ok());
}

}  // namespace ronde::testing
