#include "runtime/all_reduce_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "runtime/element_values.h"

namespace ronde::testing {
namespace {

constexpr size_t kGuard = 128;
constexpr std::byte kGuardByte{0xc3};

// Small, so that sums over 8 ranks are exact in bfloat16.
int small_value(int rank, size_t index) {
  return static_cast<int>((index * 7 + index / 13 + static_cast<size_t>(rank) * 5) % 15) - 7;
}

// An average is of multiples of nranks, which are whole again after the division.
int input_value(const Call& call, int rank, int nranks, size_t index) {
  return small_value(rank, index) * (call.op == rondeAvg ? nranks : 1);
}

int expected_value(const Call& call, int nranks, size_t index) {
  int sum = 0;
  int greatest = small_value(0, index);
  for (int rank = 0; rank < nranks; ++rank) {
    sum += input_value(call, rank, nranks, index);
    greatest = std::max(greatest, small_value(rank, index));
  }
  if (call.op == rondeMax) return greatest;
  if (call.type == rondeInt8) sum = static_cast<int8_t>(sum);  // integers wrap before they are divided
  return call.op == rondeAvg ? sum / nranks : sum;
}

std::vector<std::byte> guarded(size_t bytes) {
  return std::vector<std::byte>(bytes + 2 * kGuard + kCacheLine, kGuardByte);
}

// Where, in guarded memory, a buffer starts that misses a cache line by so much.
size_t offset_in(const std::vector<std::byte>& memory, size_t misaligned) {
  const size_t past_line = reinterpret_cast<uintptr_t>(memory.data() + kGuard) % kCacheLine;
  return kGuard + (kCacheLine - past_line) % kCacheLine + misaligned % kCacheLine;
}

bool all_guard(const std::byte* begin, const std::byte* end) {
  return std::all_of(begin, end, [](std::byte byte) { return byte == kGuardByte; });
}

std::string text_of(const Call& call) {
  return fmt::format("{} x {} {}{}{}", call.count, type_name(call.type), op_name(call.op),
                     call.in_place ? " in place" : "", call.misaligned != 0 ? " unaligned" : "");
}

}  // namespace

CallBuffers::CallBuffers(const Call& call, int rank, int nranks)
    : call_(call), rank_(rank), nranks_(nranks), output_(guarded(call.count * element_bytes(call.type))) {
  const size_t bytes = element_bytes(call.type);
  output_offset_ = offset_in(output_, call.misaligned);
  if (!call.in_place) input_ = guarded(call.count * bytes);
  std::vector<std::byte>& source = call.in_place ? output_ : input_;
  input_offset_ = call.in_place ? output_offset_ : offset_in(input_, 2 * call.misaligned);
  for (size_t i = 0; i < call.count; ++i) {
    store_value(call.type, source.data() + input_offset_ + i * bytes, input_value(call, rank, nranks, i));
  }
}

OperationArgs CallBuffers::args() {
  const std::vector<std::byte>& source = call_.in_place ? output_ : input_;
  return {source.data() + input_offset_, output_.data() + output_offset_, call_.count, call_.type, call_.op};
}

Status CallBuffers::check() const {
  const size_t bytes = element_bytes(call_.type);
  for (size_t i = 0; i < call_.count; ++i) {
    const double found = load_value(call_.type, result() + i * bytes);
    const int expected = expected_value(call_, nranks_, i);
    if (found == expected) continue;
    return {rondeInternalError, fmt::format("rank {} of {}, {}: element {} is {}, expected {}", rank_, nranks_,
                                            text_of(call_), i, found, expected)};
  }
  const std::byte* end = output_.data() + output_.size();
  if (!all_guard(output_.data(), result()) || !all_guard(result() + call_.count * bytes, end)) {
    return {rondeInternalError, fmt::format("rank {}, {}: written beside the output", rank_, text_of(call_))};
  }
  for (size_t i = 0; i < call_.count && !call_.in_place; ++i) {
    if (load_value(call_.type, input_.data() + input_offset_ + i * bytes) != input_value(call_, rank_, nranks_, i)) {
      return {rondeInternalError, fmt::format("rank {}, {}: the input was changed", rank_, text_of(call_))};
    }
  }
  return {};
}

uint64_t CallBuffers::hash() const {
  uint64_t value = 14695981039346656037u;  // FNV-1a
  const size_t bytes = call_.count * element_bytes(call_.type);
  for (size_t i = 0; i < bytes; ++i) value = (value ^ std::to_integer<uint64_t>(result()[i])) * 1099511628211u;
  return value;
}

Status run_calls(World& world, const std::vector<Call>& calls) {
  std::vector<std::vector<uint64_t>> hashes(static_cast<size_t>(world.nranks()));
  const auto statuses = world.run([&](Communicator& comm) -> Status {
    for (const Call& call : calls) {
      CallBuffers buffers(call, comm.rank(), comm.nranks());
      RONDE_TRY(comm.run(buffers.args()));
      RONDE_TRY(buffers.check());
      hashes[static_cast<size_t>(comm.rank())].push_back(buffers.hash());
    }
    return {};
  });
  RONDE_TRY(first_failure(statuses));
  for (const auto& of_rank : hashes) {
    if (of_rank != hashes[0]) return {rondeInternalError, "the ranks do not hold the same bits"};
  }
  return {};
}

std::vector<Call> mixed_calls(int nranks, size_t turn, size_t largest_count) {
  constexpr std::array kTypes = {rondeFloat32, rondeInt8, rondeBfloat16, rondeFloat64};
  constexpr std::array kOps = {rondeSum, rondeAvg, rondeMax};
  const auto n = static_cast<size_t>(nranks);
  std::vector<Call> calls;
  for (const size_t count :
       {size_t{0}, size_t{1}, n - 1, n, n + 1, size_t{14}, size_t{15}, size_t{1000}, size_t{40'000}, size_t{300'001}}) {
    if (count > largest_count) continue;
    const size_t times = count > 40'000 ? 1 : count > 1000 ? 2 : 4;
    for (size_t i = 0; i < times; ++i, ++turn) {
      const DataType type = kTypes[turn % kTypes.size()];
      const size_t misaligned = turn % 3 == 0 ? element_bytes(type) * (turn % 5 + 1) : 0;
      calls.push_back({type, kOps[turn % kOps.size()], count, turn / 2 % 2 == 0, misaligned});
    }
  }
  return calls;
}

}  // namespace ronde::testing
