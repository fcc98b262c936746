// What the tests of streams share: operations that cannot end yet, and such whose order shows in the data.
#pragma once

#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "base/wait_loop.h"
#include "runtime/worker.h"
#include "support/world.h"

namespace ronde::testing {

inline WorldOptions world_of(int nranks, const std::string& transport) {
  WorldOptions options;
  options.nranks = nranks;
  options.settings = {{"RONDE_TRANSPORT", transport}};
  return options;
}

// The worker has begun all that was put on streams before.
inline void wait_until_begun(Worker& worker) {
  Stream stream(worker);
  REQUIRE(stream.call([](const Status&) {}).ok());
  REQUIRE(stream.synchronize().ok());
}

// Holds a stream up, until it is opened: an operation of which the other rank comes late. One at a time.
class Gate {
 public:
  explicit Gate(Worker& worker) : worker_(worker), world_(world_of(2, "inproc")), other_(worker) {
    REQUIRE(first_failure(world_.made()).ok());
  }
  void close(Stream& stream) { put(stream, 0); }
  void open() {
    put(other_, 1);
    REQUIRE(other_.synchronize().ok());
  }
  // What is held up ends with rondeAborted.
  void abort() { world_[0].abort(); }

 private:
  void put(Stream& stream, int rank) {
    float* value = values_ + rank;
    REQUIRE(worker_.enqueue(stream, world_[rank], {value, value, 1, rondeFloat32, rondeSum}).ok());
  }
  Worker& worker_;
  World world_;
  Stream other_;
  float values_[2] = {};
};

// A stream with a communicator of one rank: an operation on it copies a number at its turn.
class CopyStream {
 public:
  explicit CopyStream(Worker& worker) : stream(worker), worker_(worker), world_(world_of(1, "inproc")) {
    REQUIRE(first_failure(world_.made()).ok());
  }
  [[nodiscard]] Status copy(const int& from, int& to) {
    return worker_.enqueue(stream, world_[0], {&from, &to, 1, rondeInt32, rondeSum});
  }
  Stream stream;

 private:
  Worker& worker_;
  World world_;
};

// No thread has slept through a wake-up since it was made.
class NoLostWakeUps {
 public:
  NoLostWakeUps() = default;
  ~NoLostWakeUps() { CHECK(lost_wakeups() == before_); }
  NoLostWakeUps(const NoLostWakeUps&) = delete;
  NoLostWakeUps& operator=(const NoLostWakeUps&) = delete;

 private:
  uint64_t before_ = lost_wakeups();
};

}  // namespace ronde::testing
