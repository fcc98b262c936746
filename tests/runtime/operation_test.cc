#include "runtime/operation.h"

#include <catch2/catch.hpp>

namespace ronde {

TEST_CASE("a call is described with its type, reduction and number of elements") {
  OperationArgs args{nullptr, nullptr, 1024, rondeFloat32, rondeSum};
  CHECK(describe(args) == "AllReduce (float32, sum, 1024 elements)");
  args.count = 1;
  CHECK(describe(args, 7) == "AllReduce (float32, sum, 1 element) number 7");
  args.count = 0;
  CHECK(describe(args) == "AllReduce (float32, sum, 0 elements)");
}

}  // namespace ronde
