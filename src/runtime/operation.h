// What a collective is asked to do, as plain values, and how it is named in messages.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "memory/created_reduction.h"
#include "memory/data_type.h"
#include "memory/reduce.h"
#include "schedule/collective.h"
#include "schedule/partition.h"

namespace ronde {

using schedule::Collective;

// The blocks of a collective with uneven blocks: where they lie in the buffers, by rank, in elements. Empty for a
// buffer that is one block.
struct UnevenBlocks {
  std::vector<schedule::Range> send;
  std::vector<schedule::Range> receive;
};

// One of several all-reduces that travel as one.
struct Span {
  const void* send = nullptr;
  void* receive = nullptr;
  size_t count = 0;  // elements
};

// A message between this rank and another one, or itself.
struct PairMessage {
  int peer = 0;
  const void* from = nullptr;  // of a send
  void* to = nullptr;          // of a receive
  size_t bytes = 0;
  bool outgoing = false;
};
enum class MessagesKind : uint8_t { send, receive, several };

// In place of the handles of reductions that a program has made: what they are.
inline constexpr RedOp kPreMulSum = static_cast<RedOp>(32);
inline constexpr RedOp kUserDefined = static_cast<RedOp>(33);
inline constexpr RedOp kUserDefinedOrdered = static_cast<RedOp>(34);  // not commutative

// What an operation is for: the user called it, or it is a step of a function in which the ranks of a communicator make
// another one. Those steps are all-gathers.
enum class Purpose : uint8_t { collective, split, dup, grow, window };

struct OperationArgs {
  const void* send = nullptr;
  void* receive = nullptr;
  // Elements: of the buffer (all-reduce, broadcast, reduce), or of one block. Uneven: of all blocks together
  // (all-gather, reduce-scatter), or of the buffer that is one block (gather, scatter).
  size_t count = 0;
  DataType type = rondeFloat32;
  RedOp op = rondeSum;
  Collective what = Collective::all_reduce;
  int root = 0;                                     // only where has_root(what)
  std::shared_ptr<const CreatedReduction> created;  // of kPreMulSum and the two others
  Purpose purpose = Purpose::collective;
  bool uneven = false;                         // a v-variant: blocks of different sizes
  std::shared_ptr<const UnevenBlocks> blocks;  // if uneven

  // Of an all-reduce that several of a group travel as: their buffers stand in place of one, `count` elements in all.
  bool fused = false;
  std::shared_ptr<const std::vector<Span>> spans;  // if fused

  // Of send_receive, which knows nothing of the rest but `count`, here the bytes of all messages, and `root`, the peer
  // of the first one. Those between two ranks are matched by their order.
  MessagesKind messages_kind = MessagesKind::send;
  std::shared_ptr<const std::vector<PairMessage>> messages;

  // Of `count` elements.
  [[nodiscard]] size_t bytes() const { return count * element_bytes(type); }
};

// One of the three above.
[[nodiscard]] RedOp op_of(const CreatedReduction& created);

// What it computes; a sum for what only moves.
[[nodiscard]] Reduction reduction_of(const OperationArgs& args, int nranks, bool float32_partials);

// The collectives of a communicator are numbered, and called by all ranks in the same order. Messages between two ranks
// are numbered by pair.
[[nodiscard]] constexpr bool is_numbered(const OperationArgs& args) { return args.what != Collective::send_receive; }

// 32 bits over what must be equal on all ranks: kind of operation, purpose, type, reduction, root, counts. (Of
// all-to-all, gather and scatter with uneven blocks the counts differ: each message tells its own.)
[[nodiscard]] uint32_t digest_of(const OperationArgs& args);

// "sum", "pre_mul_sum".
[[nodiscard]] std::string_view reduction_name(RedOp op);

// "AllReduce", as in the functions of ronde.h.
[[nodiscard]] std::string_view collective_name(Collective what, bool uneven);
// The same, and "CommSplit" for what that function does with a collective.
[[nodiscard]] std::string_view operation_name(const OperationArgs& args);

// "AllReduce (float32, sum, 1024 elements)", "Send (4096 bytes to rank 3)", and with " number 7" if it has one.
[[nodiscard]] std::string describe(const OperationArgs& args);
[[nodiscard]] std::string describe(const OperationArgs& args, uint32_t sequence);

}  // namespace ronde
