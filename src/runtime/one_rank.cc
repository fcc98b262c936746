#include "runtime/one_rank.h"

#include "memory/reduce.h"
#include "plan/choose.h"

namespace ronde {

void run_on_one_rank(const OperationArgs& args) {
  if (args.what == Collective::barrier) return;
  size_t count = args.count;
  size_t input = 0;
  size_t output = 0;
  if (args.uneven) {
    const UnevenBlocks& blocks = *args.blocks;
    if (!blocks.send.empty()) {
      count = blocks.send[0].count;
      input = blocks.send[0].offset;
    }
    if (!blocks.receive.empty()) {
      count = blocks.receive[0].count;
      output = blocks.receive[0].offset;
    }
  }
  if (count == 0) return;
  const size_t size = element_bytes(args.type);
  const RedOp op = schedule::reduces(args.what) ? args.op : rondeSum;
  const ReduceSource source{static_cast<const std::byte*>(args.send) + input * size, false};
  const ReduceTarget target{static_cast<std::byte*>(args.receive) + output * size, false,
                            count * size >= plan::kStreamingBytes};
  reduce(Reduction::of(args.type, op, 1, false), {&source, 1}, {&target, 1}, count);
}

}  // namespace ronde
