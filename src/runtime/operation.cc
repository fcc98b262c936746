#include "runtime/operation.h"

#include <fmt/format.h>

namespace ronde {
namespace {

constexpr uint64_t kAllReduce = 1;  // kinds of operations; more come with the other collectives

uint64_t mix(uint64_t value) {  // the finalizer of SplitMix64
  value ^= value >> 30;
  value *= 0xbf58476d1ce4e5b9u;
  value ^= value >> 27;
  value *= 0x94d049bb133111ebu;
  return value ^ (value >> 31);
}

}  // namespace

uint32_t digest_of(const OperationArgs& args) {
  const uint64_t what = kAllReduce << 56 | static_cast<uint64_t>(args.type) << 48 | static_cast<uint64_t>(args.op);
  return static_cast<uint32_t>(mix(mix(what) ^ args.count));
}

std::string describe(const OperationArgs& args) {
  return fmt::format("AllReduce ({}, {}, {} element{})", type_name(args.type), op_name(args.op), args.count,
                     args.count == 1 ? "" : "s");
}

std::string describe(const OperationArgs& args, uint32_t sequence) {
  return fmt::format("{} number {}", describe(args), sequence);
}

}  // namespace ronde
