// Where the blocks of a collective lie in the caller's buffers.
#pragma once

#include <algorithm>
#include <optional>

#include "runtime/operation.h"
#include "schedule/partition.h"

namespace ronde {

// Offsets and counts in elements.
struct Block {
  size_t count = 0;
  size_t input = 0;         // in the send buffer, if this rank has it there
  size_t output = 0;        // in the receive buffer
  bool has_output = false;  // this rank ends with it
};

// Block `number` as rank `rank` sees it: the block of the rank of that number, or, of a collective without blocks, the
// whole buffer.
[[nodiscard]] inline Block block_of(const OperationArgs& args, int rank, int number) {
  const auto at = static_cast<size_t>(number);
  switch (args.what) {
    case Collective::all_gather: {
      if (!args.uneven) return {args.count, 0, at * args.count, true};
      const schedule::Range& range = args.blocks->receive[at];
      return {range.count, 0, range.offset, true};
    }
    case Collective::reduce_scatter: {
      if (!args.uneven) return {args.count, at * args.count, 0, number == rank};
      const schedule::Range& range = args.blocks->send[at];
      return {range.count, range.offset, 0, number == rank};
    }
    case Collective::reduce: return {args.count, 0, 0, rank == args.root};
    default: return {args.count, 0, 0, true};
  }
}

// What this rank sends to `peer`, and gets from it, in a collective of blocks that go straight from rank to rank.
// Nothing where none goes.
[[nodiscard]] inline std::optional<schedule::Range> block_to(const OperationArgs& args, int rank, int peer) {
  const auto at = static_cast<size_t>(peer);
  switch (args.what) {
    case Collective::gather: return peer == args.root ? std::optional(schedule::Range{0, args.count}) : std::nullopt;
    case Collective::scatter:
      if (rank != args.root) return std::nullopt;
      [[fallthrough]];
    default: return args.uneven ? args.blocks->send[at] : schedule::Range{at * args.count, args.count};
  }
}
[[nodiscard]] inline std::optional<schedule::Range> block_from(const OperationArgs& args, int rank, int peer) {
  const auto at = static_cast<size_t>(peer);
  switch (args.what) {
    case Collective::scatter: return peer == args.root ? std::optional(schedule::Range{0, args.count}) : std::nullopt;
    case Collective::gather:
      if (rank != args.root) return std::nullopt;
      [[fallthrough]];
    default: return args.uneven ? args.blocks->receive[at] : schedule::Range{at * args.count, args.count};
  }
}

// Of the longest block, and of all together; both that of the buffer for a collective without blocks. Elements.
[[nodiscard]] inline size_t longest_block(const OperationArgs& args, int nranks) {
  if (!args.uneven || !schedule::has_agreed_blocks(args.what)) return args.count;
  size_t longest = 0;
  for (int number = 0; number < nranks; ++number) longest = std::max(longest, block_of(args, 0, number).count);
  return longest;
}
[[nodiscard]] inline size_t all_blocks(const OperationArgs& args, int nranks) {
  return schedule::has_agreed_blocks(args.what) && !args.uneven ? args.count * static_cast<size_t>(nranks) : args.count;
}

}  // namespace ronde
