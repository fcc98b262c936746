#include "runtime/one_rank.h"

#include "memory/reduce.h"
#include "plan/choose.h"

namespace ronde {

void run_on_one_rank(const OperationArgs& args) {
  if (args.what == Collective::barrier) return;
  if (args.what == Collective::send_receive) return copy_own_messages(*args.messages, 0);
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
  const ReduceSource source{static_cast<const std::byte*>(args.send) + input * size, Content::input};
  const ReduceTarget target{static_cast<std::byte*>(args.receive) + output * size, Content::final,
                            count * size >= plan::kStreamingBytes};
  reduce(reduction_of(args, 1, false), {&source, 1}, {&target, 1}, count);
}

void copy_own_messages(const std::vector<PairMessage>& messages, int rank) {
  const auto is_own = [rank](const PairMessage& message, bool outgoing) {
    return message.peer == rank && message.outgoing == outgoing;
  };
  auto receive = messages.begin();
  for (const PairMessage& send : messages) {
    if (!is_own(send, true)) continue;
    while (!is_own(*receive, false)) ++receive;
    if (send.bytes > 0 && receive->to != send.from) copy_bytes(receive->to, send.from, send.bytes, false);
    ++receive;
  }
}

}  // namespace ronde
