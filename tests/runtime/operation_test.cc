#include "runtime/operation.h"

#include <catch2/catch.hpp>
#include <set>

#include "runtime/recorded_call.h"

namespace ronde {

TEST_CASE("a call is described with its type, reduction and number of elements") {
  OperationArgs args{nullptr, nullptr, 1024, rondeFloat32, rondeSum};
  CHECK(describe(args) == "AllReduce (float32, sum, 1024 elements)");
  args.count = 1;
  CHECK(describe(args, 7) == "AllReduce (float32, sum, 1 element) number 7");
  args.count = 0;
  CHECK(describe(args) == "AllReduce (float32, sum, 0 elements)");
}

TEST_CASE("what makes communicators is named by its function, and told from the user's own collective") {
  OperationArgs args{nullptr, nullptr, 12, rondeUint8, rondeSum, Collective::all_gather};
  const uint32_t own = digest_of(args);
  CHECK(describe(args) == "AllGather (uint8, 12 elements a rank)");
  args.purpose = Purpose::split;
  CHECK(describe(args, 3) == "CommSplit number 3");
  CHECK(operation_name(args) == "CommSplit");
  const uint32_t split = digest_of(args);
  args.purpose = Purpose::dup;
  CHECK(describe(args) == "CommDup");
  CHECK(std::set<uint32_t>{own, split, digest_of(args)}.size() == 3);
}

TEST_CASE("a recorded call keeps what it was for") {
  OperationArgs args{nullptr, nullptr, 12, rondeUint8, rondeSum, Collective::all_gather};
  for (const Purpose purpose : {Purpose::collective, Purpose::split, Purpose::dup, Purpose::grow, Purpose::window}) {
    args.purpose = purpose;
    CHECK(unpack_call(pack_call(args, plan::Algorithm::direct)).args.purpose == purpose);
  }
  CHECK(unpack_call(pack_call(args, plan::Algorithm::direct) | 0xff).args.purpose == Purpose::window);
}

}  // namespace ronde
