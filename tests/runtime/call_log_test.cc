#include "runtime/call_log.h"

#include <catch2/catch.hpp>
#include <thread>

#include "runtime/black_box.h"

namespace ronde {
namespace {

OperationArgs args_of(uint32_t sequence) {
  return {nullptr, nullptr, size_t{sequence} << 20, static_cast<DataType>(sequence % 12),
          sequence % 8 < rondeNumOps ? static_cast<RedOp>(sequence % 8)
                                     : static_cast<RedOp>(rondeBitAnd + static_cast<int>(sequence % 8) - rondeNumOps)};
}

CallLog log_from(uint32_t first) { return {BlackBox::private_area(), first}; }

constexpr uint32_t kMany = 2 * black_box::kOperations + 3;

}  // namespace

TEST_CASE("the last calls are remembered, earlier and later ones are not known") {
  const uint32_t first = GENERATE(0u, 0x7ffffff0u, 0xfffffff0u);
  CallLog log = log_from(first);
  CHECK(log.begun() == first);
  CHECK_FALSE(log.find(first + 1));
  for (uint32_t i = 1; i <= kMany; ++i) log.begin(args_of(first + i), first + i, i, plan::Algorithm::ring);
  CHECK(log.begun() == first + kMany);
  for (uint32_t i = kMany - 7; i <= kMany; ++i) {
    const auto call = log.find(first + i);
    REQUIRE(call);
    CHECK(call->digest == i);
    CHECK(call->args.count == args_of(first + i).count);
    CHECK(call->args.type == args_of(first + i).type);
    CHECK(call->args.op == args_of(first + i).op);
  }
  CHECK_FALSE(log.find(first + kMany + 1));
  CHECK_FALSE(log.find(first + 2));
}

TEST_CASE("a number that was never begun is not taken for the empty place of the log") {
  CHECK_FALSE(log_from(0xfffffff0).find(0));
}

TEST_CASE("a reader beside the writer sees whole calls only") {
  CallLog log = log_from(0);
  std::thread writer([&log] {
    for (uint32_t i = 1; i <= 20'000; ++i) log.begin(args_of(i), i, i, plan::Algorithm::ring);
  });
  size_t found = 0;
  for (uint32_t begun = 0; begun < 20'000;) {
    begun = log.begun();
    const auto call = log.find(begun);
    if (!call) continue;
    ++found;
    if (call->digest != begun || call->args.count != args_of(begun).count || call->args.op != args_of(begun).op)
      FAIL("a call of several: " << begun << ", " << call->digest);
  }
  writer.join();
  CHECK(found > 0);
}

}  // namespace ronde
