#include "runtime/recorded_call.h"

#include <algorithm>

namespace ronde {
namespace {

constexpr uint32_t kUneven = 0x80;
constexpr uint32_t kFirstBitwise = 0x40000000;

// The built-in reductions have small numbers, the bitwise ones great ones.
uint32_t pack_op(RedOp op) {
  const auto number = static_cast<uint32_t>(op);
  return number >= kFirstBitwise ? 0x40 | (number & 0x3f) : number & 0x3f;
}

RedOp unpack_op(uint32_t packed) {
  return static_cast<RedOp>((packed & 0x40) != 0 ? kFirstBitwise | (packed & 0x3f) : packed & 0x3f);
}

}  // namespace

uint32_t pack_call(const OperationArgs& args, plan::Algorithm algorithm) {
  const uint32_t op = is_numbered(args) ? pack_op(args.op) : static_cast<uint32_t>(args.messages_kind);
  const uint32_t type = static_cast<uint32_t>(args.type) | (args.uneven ? kUneven : 0);
  return static_cast<uint32_t>(args.what) << 24 | static_cast<uint32_t>(algorithm) << 16 | type << 8 | op;
}

UnpackedCall unpack_call(uint32_t what) {
  UnpackedCall call;
  const uint32_t type = what >> 8 & 0xff;
  call.args.op = unpack_op(what & 0xff);
  call.args.type = static_cast<DataType>(type & ~kUneven);
  call.args.uneven = (type & kUneven) != 0;
  call.args.what = static_cast<Collective>(what >> 24);
  if (!is_numbered(call.args))
    call.args.messages_kind = static_cast<MessagesKind>(std::min(what & 0xff, uint32_t{2}));
  const uint32_t algorithm = what >> 16 & 0xff;
  if (algorithm <= static_cast<uint32_t>(plan::kLastAlgorithm)) call.algorithm = static_cast<plan::Algorithm>(algorithm);
  return call;
}

}  // namespace ronde
