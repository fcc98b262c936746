// Operations so small that they ride in the fixed line (LineTask); those in windows are in window_task.cc.
#include <array>
#include <cstring>

#include "runtime/window_task.h"

namespace ronde {

using schedule::Range;

void LineTask::publish_line() {
  OperationLine& line = line_of(context().rank);
  line.digest = digest();
  const auto* input = static_cast<const std::byte*>(args().send);
  if (args().uneven && args().what == Collective::reduce_scatter) {
    size_t at = 0;  // the blocks may lie apart
    for (const Range& block : args().blocks->send) {
      const size_t bytes = block.count * element_bytes(args().type);
      if (bytes > 0) publish_input(line.payload.data() + at, input + block.offset * element_bytes(args().type), bytes);
      at += bytes;
    }
  } else if (const size_t bytes = payload_bytes(context().rank); bytes > 0) {
    publish_input(line.payload.data(), input, bytes);
  }
  publish(line.sequence, sequence());
  ring_all();
  published_ = true;
}

Progress LineTask::advance() {
  if (!published_) publish_line();
  for (; heard_ < context().nranks; ++heard_) {
    const OperationLine& line = line_of(heard_);
    if (observe(line.sequence) != sequence()) return wait_for(heard_, false);
    if (line.digest != digest()) return blocked_on_line(heard_);
  }
  if (schedule::reduces(args().what)) combine();
  if (args().what == Collective::all_gather) gather();
  const size_t others = static_cast<size_t>(context().nranks) - 1;
  windows_.lines += (sizeof(OperationLine) - OperationLine::kPayloadBytes) * others;
  return done();
}

void LineTask::combine() {
  const auto nranks = static_cast<size_t>(context().nranks);
  const bool scatters = args().what == Collective::reduce_scatter;
  const size_t count = scatters ? block_of(args(), context().rank, context().rank).count : args().count;
  size_t offset = 0;
  for (int rank = 0; scatters && rank < context().rank; ++rank)
    offset += block_of(args(), context().rank, rank).count * element_bytes(args().type);
  std::array<ReduceSource, plan::kMaxWindowRanks> sources;
  for (size_t rank = 0; rank < nranks; ++rank) {
    sources[rank] = {line_of(static_cast<int>(rank)).payload.data() + offset, published_content()};
  }
  const ReduceTarget target{args().receive, Content::final, false};
  reduce(reduction_, {sources.data(), nranks}, {&target, 1}, count);
  const size_t own = count * element_bytes(args().type);
  windows_.received += own * (nranks - 1);
  windows_.sent +=
      scatters ? all_blocks(args(), context().nranks) * element_bytes(args().type) - own : own * (nranks - 1);
}

void LineTask::gather() {
  for (int rank = 0; rank < context().nranks; ++rank) {
    const Block block = block_of(args(), context().rank, rank);
    const size_t bytes = payload_bytes(rank);
    if (bytes == 0) continue;
    std::byte* output = static_cast<std::byte*>(args().receive) + block.output * element_bytes(args().type);
    std::memcpy(output, line_of(rank).payload.data(), bytes);
    if (rank != context().rank) windows_.received += bytes;
  }
  windows_.sent += payload_bytes(context().rank) * (static_cast<size_t>(context().nranks) - 1);
}

size_t LineTask::payload_bytes(int rank) const {
  size_t count = args().count;
  if (args().what == Collective::all_gather) count = block_of(args(), context().rank, rank).count;
  if (args().what == Collective::reduce_scatter) count = all_blocks(args(), context().nranks);
  return count * element_bytes(args().type);
}

}  // namespace ronde
