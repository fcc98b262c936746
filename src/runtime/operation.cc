#include "runtime/operation.h"

#include <fmt/format.h>

namespace ronde {
namespace {

using schedule::Range;

uint64_t mix(uint64_t value) {  // the finalizer of SplitMix64
  value ^= value >> 30;
  value *= 0xbf58476d1ce4e5b9u;
  value ^= value >> 27;
  value *= 0x94d049bb133111ebu;
  return value ^ (value >> 31);
}

// All ranks know the sizes of all blocks: those that everybody ends with, or gives a part of.
bool sizes_are_agreed(const OperationArgs& args) { return !args.uneven || schedule::has_agreed_blocks(args.what); }

// Sizes only: where the blocks lie may differ between ranks.
const std::vector<Range>& agreed_blocks(const OperationArgs& args) {
  return args.what == Collective::all_gather ? args.blocks->receive : args.blocks->send;
}

bool counts_one_block(Collective what) {
  return what == Collective::reduce_scatter || what == Collective::all_gather || what == Collective::all_to_all ||
         what == Collective::gather || what == Collective::scatter;
}

}  // namespace

RedOp op_of(const CreatedReduction& created) {
  if (!created.is_user_defined()) return kPreMulSum;
  return created.is_commutative() ? kUserDefined : kUserDefinedOrdered;
}

Reduction reduction_of(const OperationArgs& args, int nranks, bool float32_partials) {
  if (args.created != nullptr) return args.created->of(args.type, float32_partials);
  const RedOp op = schedule::reduces(args.what) ? args.op : rondeSum;
  return Reduction::of(args.type, op, nranks, float32_partials);
}

uint32_t digest_of(const OperationArgs& args) {
  const uint64_t root = schedule::has_root(args.what) ? static_cast<uint32_t>(args.root) : 0;
  const uint64_t op = schedule::reduces(args.what) ? op_code(args.op) + 1u : 0;
  const uint64_t type = is_numbered(args) ? static_cast<uint64_t>(args.type) : 0;
  // The whole call but its counts: root 32 bits, op 8, type 8, purpose 4, uneven 1, what 8.
  uint64_t hash = mix(root | op << 32 | type << 40 | static_cast<uint64_t>(args.purpose) << 48 |
                      uint64_t{args.uneven} << 52 | (static_cast<uint64_t>(args.what) + 1) << 56);
  if (!is_numbered(args)) return static_cast<uint32_t>(hash);  // each message tells its own size
  if (args.spans != nullptr) {
    for (const Span& span : *args.spans) hash = mix(hash ^ span.count);
  }
  if (!args.uneven) return static_cast<uint32_t>(mix(hash ^ args.count));
  if (sizes_are_agreed(args)) {
    for (const Range& block : agreed_blocks(args)) hash = mix(hash ^ block.count);
  }
  return static_cast<uint32_t>(mix(hash));
}

std::string_view reduction_name(RedOp op) {
  if (op == kPreMulSum) return "pre_mul_sum";
  if (op == kUserDefined) return "user_defined";
  if (op == kUserDefinedOrdered) return "user_defined, not commutative";
  return op_name(op);
}

std::string_view collective_name(Collective what, bool uneven) {
  switch (what) {
    case Collective::all_reduce: return "AllReduce";
    case Collective::reduce_scatter: return uneven ? "ReduceScatterV" : "ReduceScatter";
    case Collective::all_gather: return uneven ? "AllGatherV" : "AllGather";
    case Collective::broadcast: return "Broadcast";
    case Collective::reduce: return "Reduce";
    case Collective::all_to_all: return uneven ? "AlltoAllV" : "AlltoAll";
    case Collective::gather: return uneven ? "GatherV" : "Gather";
    case Collective::scatter: return uneven ? "ScatterV" : "Scatter";
    case Collective::barrier: return "Barrier";
    case Collective::send_receive: return "SendRecv";
  }
  return "?";
}

std::string_view operation_name(const OperationArgs& args) {
  switch (args.purpose) {
    case Purpose::collective: return collective_name(args.what, args.uneven);
    case Purpose::split: return "CommSplit";
    case Purpose::dup: return "CommDup";
    case Purpose::grow: return "CommGrow";
    case Purpose::window: return "CommWindowRegister";
  }
  return "?";
}

namespace {

std::string describe_messages(const OperationArgs& args) {
  switch (args.messages_kind) {
    case MessagesKind::send: return fmt::format("Send ({} bytes to rank {})", args.count, args.root);
    case MessagesKind::receive: return fmt::format("Recv ({} bytes from rank {})", args.count, args.root);
    case MessagesKind::several: break;
  }
  return fmt::format("a group of Send and Recv ({} bytes)", args.count);
}

}  // namespace

std::string describe(const OperationArgs& args) {
  if (!is_numbered(args)) return describe_messages(args);
  const std::string_view name = operation_name(args);
  if (args.what == Collective::barrier || args.purpose != Purpose::collective) return std::string(name);
  std::string text = fmt::format("{}{} ({}", args.fused ? "a group of " : "", name, type_name(args.type));
  if (schedule::reduces(args.what)) text += fmt::format(", {}", reduction_name(args.op));
  if (schedule::has_root(args.what)) text += fmt::format(", root {}", args.root);
  if (sizes_are_agreed(args)) {
    const char* const of = args.uneven || args.fused ? " in all" : counts_one_block(args.what) ? " a rank" : "";
    text += fmt::format(", {} element{}{}", args.count, args.count == 1 ? "" : "s", of);
  }
  return text + ")";
}

std::string describe(const OperationArgs& args, uint32_t sequence) {
  return is_numbered(args) ? fmt::format("{} number {}", describe(args), sequence) : describe(args);
}

}  // namespace ronde
