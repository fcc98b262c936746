#include "runtime/recorded_call.h"

#include <algorithm>

namespace ronde {
namespace {

constexpr uint32_t kUneven = 0x80;
constexpr uint32_t kFused = 0x40;

// An all-gather has no reduction: the purpose stands in its place.
bool has_purpose(const OperationArgs& args) { return args.what == Collective::all_gather; }

}  // namespace

uint32_t pack_call(const OperationArgs& args, plan::Algorithm algorithm) {
  uint32_t op = is_numbered(args) ? op_code(args.op) : static_cast<uint32_t>(args.messages_kind);
  if (has_purpose(args)) op = static_cast<uint32_t>(args.purpose);
  const uint32_t type = static_cast<uint32_t>(args.type) | (args.uneven ? kUneven : 0) | (args.fused ? kFused : 0);
  return static_cast<uint32_t>(args.what) << 24 | static_cast<uint32_t>(algorithm) << 16 | type << 8 | op;
}

UnpackedCall unpack_call(uint32_t what) {
  UnpackedCall call;
  const uint32_t type = what >> 8 & 0xff;
  call.args.op = op_of_code(static_cast<uint8_t>(what & 0xff));
  call.args.type = static_cast<DataType>(type & ~(kUneven | kFused));
  call.args.uneven = (type & kUneven) != 0;
  call.args.fused = (type & kFused) != 0;
  call.args.what = static_cast<Collective>(what >> 24);
  if (!is_numbered(call.args)) call.args.messages_kind = static_cast<MessagesKind>(std::min(what & 0xff, uint32_t{2}));
  if (has_purpose(call.args))
    call.args.purpose = static_cast<Purpose>(std::min(what & 0xff, static_cast<uint32_t>(Purpose::window)));
  const uint32_t algorithm = what >> 16 & 0xff;
  if (algorithm <= static_cast<uint32_t>(plan::kLastAlgorithm))
    call.algorithm = static_cast<plan::Algorithm>(algorithm);
  return call;
}

}  // namespace ronde
