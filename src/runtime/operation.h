// What a collective is asked to do, as plain values, and how it is named in messages.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "memory/data_type.h"
#include "schedule/collective.h"
#include "schedule/partition.h"

namespace ronde {

using schedule::Collective;

// The blocks of a collective with uneven blocks: where they lie in the buffers, by rank, in elements. Empty for a buffer
// that is one block.
struct UnevenBlocks {
  std::vector<schedule::Range> send;
  std::vector<schedule::Range> receive;
};

struct OperationArgs {
  const void* send = nullptr;
  void* receive = nullptr;
  // Elements: of the buffer (all-reduce, broadcast, reduce), or of one block. Uneven: of all blocks together (all-gather,
  // reduce-scatter), or of the buffer that is one block (gather, scatter).
  size_t count = 0;
  DataType type = rondeFloat32;
  RedOp op = rondeSum;
  Collective what = Collective::all_reduce;
  int root = 0;         // only where has_root(what)
  bool uneven = false;  // a v-variant: blocks of different sizes
  std::shared_ptr<const UnevenBlocks> blocks;  // if uneven

  // Of `count` elements.
  [[nodiscard]] size_t bytes() const { return count * element_bytes(type); }
};

// 32 bits over what must be equal on all ranks: kind of operation, type, reduction, root, counts. (Of all-to-all, gather
// and scatter with uneven blocks the counts differ: each message tells its own.)
[[nodiscard]] uint32_t digest_of(const OperationArgs& args);

// "AllReduce", as in the functions of ronde.h.
[[nodiscard]] std::string_view collective_name(Collective what, bool uneven);

// "AllReduce (float32, sum, 1024 elements)", and with " number 7".
[[nodiscard]] std::string describe(const OperationArgs& args);
[[nodiscard]] std::string describe(const OperationArgs& args, uint32_t sequence);

}  // namespace ronde
