// Small all-reduces of a group travel as one, and give what they give alone.
#include <catch2/catch.hpp>
#include <string>

#include "runtime/all_reduce_model.h"
#include "runtime/group.h"

namespace ronde::testing {
namespace {

// Runs the calls as one group on all ranks; *operations: how many they were in the end.
Status run_as_group(World& world, const std::vector<Call>& calls, size_t* operations) {
  return first_failure(world.run([&](Communicator& comm) -> Status {
    std::vector<CallBuffers> buffers;
    std::vector<GroupCall> group;
    buffers.reserve(calls.size());
    for (const Call& call : calls) {
      buffers.emplace_back(call, comm.rank(), comm.nranks());
      group.push_back({&comm, nullptr, buffers.back().args()});
    }
    group = with_small_ones_fused(std::move(group));
    if (comm.rank() == 0) *operations = group.size();
    RONDE_TRY(run_group(group, world.process().worker()));
    for (const CallBuffers& one : buffers) RONDE_TRY(one.check());
    return {};
  }));
}

}  // namespace

TEST_CASE("all-reduces of a group give the same as alone, whatever travels together") {
  for (const std::string transport : {"inproc", "tcp"}) {
    for (const int nranks : {1, 2, 3}) {
      CAPTURE(transport, nranks);
      WorldOptions options;
      options.nranks = nranks;
      options.settings = {{"RONDE_TRANSPORT", transport}};
      World world(options);
      REQUIRE(first_failure(world.made()).ok());
      const std::vector<Call> calls = mixed_calls(nranks, 3, 300'001);
      size_t operations = 0;
      for (int round = 0; round < 3; ++round) {
        const Status status = run_as_group(world, calls, &operations);
        INFO(status.message());
        REQUIRE(status.ok());
      }
      CHECK((nranks == 1 ? operations == calls.size() : operations < calls.size() / 2));
    }
  }
}

TEST_CASE("what travels together: small ones of one type and built-in reduction, up to a bundle") {
  WorldOptions options;
  World world(options);
  REQUIRE(first_failure(world.made()).ok());
  std::vector<float> data(1 << 20);
  const auto call = [&](size_t count, RedOp op) {
    return GroupCall{&world[0], nullptr, OperationArgs{data.data(), data.data(), count, rondeFloat32, op}};
  };
  std::vector<GroupCall> calls = {call(10, rondeSum), call(1 << 20, rondeSum), call(20, rondeMax),
                                  call(0, rondeSum),  call(30, rondeSum),      call(5, rondeMax)};
  calls = with_small_ones_fused(std::move(calls));
  REQUIRE(calls.size() == 3);
  CHECK(calls[0].args.count == 40);
  CHECK(calls[0].args.spans->size() == 3);
  CHECK(describe(calls[0].args) == "a group of AllReduce (float32, sum, 40 elements in all)");
  CHECK(calls[1].args.spans == nullptr);
  CHECK(calls[2].args.count == 25);

  std::vector<GroupCall> own(2, call(10, kPreMulSum));
  const float factor = 2;
  for (GroupCall& one : own) {
    one.args.created = std::make_shared<const CreatedReduction>(CreatedReduction::pre_mul_sum(rondeFloat32, &factor));
  }
  CHECK(with_small_ones_fused(std::move(own)).size() == 2);

  std::vector<GroupCall> many(100, call(16'384, rondeSum));  // 64 KiB each
  many = with_small_ones_fused(std::move(many));
  CHECK(many.size() == 7);  // 1 MiB each
}

TEST_CASE("a group of other sizes is another operation, even if the sum is the same") {
  const OperationArgs plain{nullptr, nullptr, 30, rondeFloat32, rondeSum};
  const auto with = [&](std::vector<Span> spans) {
    OperationArgs args = plain;
    args.spans = std::make_shared<const std::vector<Span>>(std::move(spans));
    return digest_of(args);
  };
  CHECK(with({{nullptr, nullptr, 10}, {nullptr, nullptr, 20}}) !=
        with({{nullptr, nullptr, 20}, {nullptr, nullptr, 10}}));
  CHECK(with({{nullptr, nullptr, 10}, {nullptr, nullptr, 20}}) != digest_of(plain));
}

}  // namespace ronde::testing
