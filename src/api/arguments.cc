#include "api/arguments.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <numeric>

#include "api/handles.h"
#include "runtime/block_map.h"

namespace ronde::api {
namespace {

using schedule::Range;

// Bytes that a buffer may have: half of the address space, so that nothing overflows in between.
constexpr size_t kMostBytes = SIZE_MAX / 2;

// blocks: of so many elements, in one buffer.
Status check_size(const char* function, rondeDataType_t type, size_t count, int blocks) {
  if (!is_data_type(type))
    return {rondeInvalidArgument,
            fmt::format("{}: datatype {} is not one of rondeDataType_t", function, static_cast<int>(type))};
  size_t bytes = 0;
  const bool too_many = __builtin_mul_overflow(count, element_bytes(type) * static_cast<size_t>(blocks), &bytes);
  if (!too_many && bytes <= kMostBytes) return {};
  return {rondeInvalidArgument, fmt::format("{}: count {} is more than memory can hold", function, count)};
}

Status check_reduction(const char* function, const OperationArgs& args) {
  if (args.created != nullptr) {
    if (args.created->fits(args.type)) return {};
    return {rondeInvalidArgument,
            fmt::format("{}: op was made for elements of another type, not for {}", function, type_name(args.type))};
  }
  if (!is_built_in_op(args.op))
    return {rondeInvalidArgument, fmt::format("{}: op {} is not one of rondeRedOp_t, and was not made on this "
                                              "communicator",
                                              function, static_cast<int>(args.op))};
  if (reduction_fits(args.type, args.op)) return {};
  return {rondeInvalidArgument,
          fmt::format("{}: {} is for integer types, not for {}", function, op_name(args.op), type_name(args.type))};
}

Status check_plain_values(const char* function, const OperationArgs& args, int nranks) {
  RONDE_TRY(check_size(function, args.type, args.count, nranks));
  if (schedule::reduces(args.what)) RONDE_TRY(check_reduction(function, args));
  if (schedule::has_root(args.what) && (args.root < 0 || args.root >= nranks))
    return {rondeInvalidArgument,
            fmt::format("{}: root {} is not one of the ranks 0 to {}", function, args.root, nranks - 1)};
  return {};
}

size_t end_of(const std::vector<Range>& blocks) {
  size_t end = 0;
  for (const Range& block : blocks) {
    if (block.count > 0) end = std::max(end, block.end());
  }
  return end;
}

// Elements from the beginning of a buffer to the end of what this rank has there.
size_t send_extent(const OperationArgs& args, int rank, int nranks) {
  const auto n = static_cast<size_t>(nranks);
  switch (args.what) {
    case Collective::barrier: return 0;
    case Collective::broadcast: return rank == args.root ? args.count : 0;
    case Collective::all_gather: return block_of(args, rank, rank).count;
    case Collective::scatter:
      if (rank != args.root) return 0;
      [[fallthrough]];
    case Collective::all_to_all:
    case Collective::reduce_scatter: return args.uneven ? end_of(args.blocks->send) : n * args.count;
    default: return args.count;
  }
}

size_t receive_extent(const OperationArgs& args, int rank, int nranks) {
  const auto n = static_cast<size_t>(nranks);
  switch (args.what) {
    case Collective::barrier: return 0;
    case Collective::reduce: return rank == args.root ? args.count : 0;
    case Collective::reduce_scatter: return block_of(args, rank, rank).count;
    case Collective::gather:
      if (rank != args.root) return 0;
      [[fallthrough]];
    case Collective::all_to_all:
    case Collective::all_gather: return args.uneven ? end_of(args.blocks->receive) : n * args.count;
    default: return args.count;
  }
}

// In place: how many elements the beginnings of the two buffers are apart.
struct InPlace {
  bool possible = true;
  size_t send_behind = 0;     // the input lies so far behind the beginning of the receive buffer
  size_t receive_behind = 0;  // the output lies so far behind the beginning of the send buffer
};

InPlace in_place_of(const OperationArgs& args, int rank) {
  InPlace place;
  switch (args.what) {
    case Collective::all_gather: place.send_behind = block_of(args, rank, rank).output; break;
    case Collective::reduce_scatter: place.receive_behind = block_of(args, rank, rank).input; break;
    case Collective::gather:
      if (rank == args.root) place.send_behind = block_from(args, rank, rank)->offset;
      break;
    case Collective::scatter:
      if (rank == args.root) place.receive_behind = block_to(args, rank, rank)->offset;
      break;
    case Collective::all_to_all: place.possible = !args.uneven; break;
    default: break;
  }
  return place;
}

std::string in_place_text(const InPlace& place) {
  if (!place.possible) return "apart: this function does not work in place";
  if (place.send_behind > 0)
    return fmt::format("apart, or sendbuff {} elements behind recvbuff (in place)", place.send_behind);
  if (place.receive_behind > 0)
    return fmt::format("apart, or recvbuff {} elements behind sendbuff (in place)", place.receive_behind);
  return "equal (in place) or apart";
}

// In place the result of a reduce-scatter is written over the rank's own input: nobody else's may lie there.
Status check_own_place(const char* function, const OperationArgs& args, int rank) {
  if (args.what != Collective::reduce_scatter || !args.uneven) return {};
  const std::vector<Range>& blocks = args.blocks->send;
  const Range& own = blocks[static_cast<size_t>(rank)];
  for (size_t other = 0; other < blocks.size(); ++other) {
    if (static_cast<int>(other) == rank || blocks[other].count == 0 || blocks[other].offset >= own.end() ||
        own.offset >= blocks[other].end()) {
      continue;
    }
    return {
        rondeInvalidArgument,
        fmt::format("{}: in place the result is written over the block of rank {} in sendbuff, which that of rank {} "
                    "overlaps; give it a recvbuff of its own",
                    function, rank, other)};
  }
  return {};
}

Status check_overlap(const char* function, const OperationArgs& args, int rank, size_t send_bytes,
                     size_t receive_bytes) {
  const auto send = reinterpret_cast<uintptr_t>(args.send);
  const auto receive = reinterpret_cast<uintptr_t>(args.receive);
  if (send >= receive + receive_bytes || receive >= send + send_bytes) return {};
  const InPlace place = in_place_of(args, rank);
  const size_t size = element_bytes(args.type);
  if (place.possible && send + place.receive_behind * size == receive + place.send_behind * size) {
    return check_own_place(function, args, rank);
  }
  const uintptr_t common = std::min(send + send_bytes, receive + receive_bytes) - std::max(send, receive);
  return {rondeInvalidArgument,
          fmt::format("{}: sendbuff and recvbuff overlap by {} of {} bytes; they must be {}", function, common,
                      std::max(send_bytes, receive_bytes), in_place_text(place))};
}

Status check_receive_blocks(const char* function, const std::vector<Range>& blocks) {
  std::vector<size_t> order(blocks.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::sort(order.begin(), order.end(),
            [&](size_t a, size_t b) { return std::pair(blocks[a].offset, a) < std::pair(blocks[b].offset, b); });
  const Range* before = nullptr;
  size_t before_rank = 0;
  for (const size_t rank : order) {
    if (blocks[rank].count == 0) continue;
    if (before != nullptr && before->end() > blocks[rank].offset)
      return {rondeInvalidArgument,
              fmt::format("{}: the blocks of rank {} and rank {} overlap in recvbuff", function, before_rank, rank)};
    before = &blocks[rank];
    before_rank = rank;
  }
  return {};
}

// A root that gives to itself must also take so much.
Status check_own_block(const char* function, const OperationArgs& args, int rank) {
  const bool own = args.what == Collective::all_to_all ||
                   (rank == args.root && (args.what == Collective::gather || args.what == Collective::scatter));
  if (!own) return {};
  const size_t given = block_to(args, rank, rank)->count;
  const size_t taken = block_from(args, rank, rank)->count;
  if (given == taken) return {};
  return {rondeInvalidArgument,
          fmt::format("{}: rank {} sends {} elements to itself and expects {}", function, rank, given, taken)};
}

}  // namespace

Result<std::vector<Range>> blocks_of(const char* function, const char* counts_name, const size_t* counts,
                                     const size_t* displacements, int nranks, rondeDataType_t type) {
  RONDE_TRY(not_null(counts, function, counts_name));
  const size_t most = kMostBytes / (is_data_type(type) ? element_bytes(type) : 1);
  std::vector<Range> blocks(static_cast<size_t>(nranks));
  size_t end = 0;
  for (size_t rank = 0; rank < blocks.size(); ++rank) {
    blocks[rank] = {displacements != nullptr ? displacements[rank] : end, counts[rank]};
    if (counts[rank] > most || blocks[rank].offset > most - counts[rank])
      return Status(rondeInvalidArgument, fmt::format("{}: {} elements at {} for rank {} are more than memory can hold",
                                                      function, counts[rank], blocks[rank].offset, rank));
    end = blocks[rank].end();
  }
  return blocks;
}

Status check_elements(const char* function, rondeDataType_t type, size_t count) {
  return check_size(function, type, count, 1);
}

Status check_arguments(const char* function, const OperationArgs& args, int rank, int nranks) {
  RONDE_TRY(check_plain_values(function, args, nranks));
  const size_t size = element_bytes(args.type);
  const size_t send_bytes = send_extent(args, rank, nranks) * size;
  const size_t receive_bytes = receive_extent(args, rank, nranks) * size;
  if (send_bytes > 0) RONDE_TRY(not_null(args.send, function, "sendbuff"));
  if (receive_bytes > 0) RONDE_TRY(not_null(args.receive, function, "recvbuff"));
  if (args.uneven) {
    RONDE_TRY(check_receive_blocks(function, args.blocks->receive));
    RONDE_TRY(check_own_block(function, args, rank));
  }
  if (send_bytes == 0 || receive_bytes == 0) return {};
  return check_overlap(function, args, rank, send_bytes, receive_bytes);
}

}  // namespace ronde::api
