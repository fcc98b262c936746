// Places among the queued operations of a communicator.
#include <catch2/catch.hpp>
#include <thread>

#include "runtime/stream.h"
#include "support/world.h"

namespace ronde::testing {
namespace {

OperationArgs sum_of(int& value) { return {&value, &value, 1, rondeInt32, rondeSum}; }

}  // namespace

TEST_CASE("a turn comes after what was queued before it, and before what is queued after it") {
  World world({.nranks = 2});
  REQUIRE(first_failure(world.made()).ok());
  Worker& worker = world.process().worker();
  CHECK(first_failure(world.run([&](Communicator& comm) -> Status {
          Stream stream(worker);
          int before = 1;
          int within = 10;
          int after = 100;
          RONDE_TRY(worker.enqueue(stream, comm, sum_of(before)));
          RONDE_ASSIGN(const std::shared_ptr<Turn> turn, Turn::take(worker, comm));
          RONDE_TRY(worker.enqueue(stream, comm, sum_of(after)));
          if (!turn->await(OnceFlag())) return {rondeInternalError, "the turn has not come"};
          if (before != 2 || after != 100) return {rondeInternalError, "another order"};
          RONDE_TRY(comm.run(sum_of(within)));
          if (stream.query().code() != rondeInProgress) return {rondeInternalError, "the later one did not wait"};
          turn->end();
          RONDE_TRY(worker.wait_for(comm));
          if (within != 20 || after != 200) return {rondeInternalError, "wrong sums"};
          return stream.synchronize();
        })).message() == "");
}

TEST_CASE("turns that end before their time are passed over, in any order") {
  World world({.nranks = 2});
  REQUIRE(first_failure(world.made()).ok());
  Worker& worker = world.process().worker();
  CHECK(first_failure(world.run([&](Communicator& comm) -> Status {
          Stream stream(worker);
          int value = 1;
          RONDE_TRY(worker.enqueue(stream, comm, sum_of(value)));
          RONDE_ASSIGN(std::shared_ptr<Turn> first, Turn::take(worker, comm));
          RONDE_ASSIGN(std::shared_ptr<Turn> second, Turn::take(worker, comm));
          RONDE_ASSIGN(const std::shared_ptr<Turn> third, Turn::take(worker, comm));
          RONDE_TRY(worker.enqueue(stream, comm, sum_of(value)));
          second.reset();
          first.reset();
          if (!third->await(OnceFlag())) return {rondeInternalError, "the turn has not come"};
          third->end();
          third->end();
          RONDE_TRY(stream.synchronize());
          if (value != 4) return {rondeInternalError, "wrong sums"};
          return worker.wait_for(comm);
        })).message() == "");
}

TEST_CASE("who waits for a turn can be told not to") {
  World world({.nranks = 1});
  REQUIRE(first_failure(world.made()).ok());
  Worker& worker = world.process().worker();
  auto first = *Turn::take(worker, world[0]);
  OnceFlag stop;
  REQUIRE(first->await(stop));
  auto second = *Turn::take(worker, world[0]);
  std::thread stops([&] {
    std::this_thread::sleep_for(Milliseconds(20));
    stop.set();
    second->look_again();
  });
  CHECK_FALSE(second->await(stop));
  stops.join();
  second->end();
  first->end();
  CHECK(worker.wait_for(world[0]).ok());
}

}  // namespace ronde::testing
