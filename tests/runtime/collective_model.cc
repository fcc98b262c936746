#include "runtime/collective_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "runtime/element_values.h"

namespace ronde::testing {
namespace {

constexpr size_t kGuard = 128;
constexpr std::byte kPoison{0xc3};

// Small, so that sums over some ranks are exact in bfloat16.
int small_value(int rank, size_t index) {
  return static_cast<int>((index * 7 + index / 13 + static_cast<size_t>(rank) * 5) % 15) - 7;
}

size_t end_of(const std::vector<schedule::Range>& blocks) {
  size_t end = 0;
  for (const schedule::Range& block : blocks) end = std::max(end, block.end());
  return end;
}

void poison(std::pmr::vector<std::byte>& memory, size_t bytes) {
  memory.assign(bytes + 2 * kGuard + kCacheLine, kPoison);
}

size_t offset_in(const std::pmr::vector<std::byte>& memory, size_t misaligned) {
  const size_t past_line = reinterpret_cast<uintptr_t>(memory.data() + kGuard) % kCacheLine;
  return kGuard + (kCacheLine - past_line) % kCacheLine + misaligned % kCacheLine;
}

bool has_blocks(Collective what) {
  return what != Collective::all_reduce && what != Collective::broadcast && what != Collective::reduce &&
         what != Collective::barrier;
}

}  // namespace

std::string text_of(const CollectiveCall& call) {
  return fmt::format("{} of {} x {} {}, root {}{}{}", collective_name(call.what, call.uneven), call.count,
                     type_name(call.type), op_name(call.op), call.root, call.in_place ? ", in place" : "",
                     call.misaligned != 0 ? ", unaligned" : "");
}

CollectiveBuffers::CollectiveBuffers(const CollectiveCall& call, int rank, int nranks,
                                     std::pmr::memory_resource* memory)
    : call_(call),
      rank_(rank),
      nranks_(nranks),
      given_(given_by(rank)),
      taken_(taken_by(rank)),
      input_(memory),
      output_(memory) {
  lay_out();
  fill();
  input_before_ = input_;
  output_before_ = output_;
}

size_t CollectiveBuffers::size_between(int from, int to) const {
  if (!call_.uneven) return call_.count;
  const bool by_pair = call_.what == Collective::all_to_all;
  const bool by_sender = call_.what == Collective::all_gather || call_.what == Collective::gather;
  const int turn = by_pair ? from + 2 * to : by_sender ? from : to;
  return call_.count * static_cast<size_t>(turn % 3) + static_cast<size_t>(turn % 2);
}

// Uneven blocks lie apart.
CollectiveBuffers::Blocks CollectiveBuffers::given_by(int rank) const {
  Blocks blocks;
  const bool one = call_.what == Collective::all_gather || call_.what == Collective::gather || !has_blocks(call_.what);
  if (one) return {{0, has_blocks(call_.what) ? size_between(rank, call_.root) : call_.count}};
  if (call_.what == Collective::scatter && rank != call_.root) return {};
  size_t at = 0;
  for (int to = 0; to < nranks_; ++to) {
    blocks.push_back({at, size_between(rank, to)});
    at = blocks.back().end() + (call_.uneven ? static_cast<size_t>(to % 3) : 0);
  }
  return blocks;
}

CollectiveBuffers::Blocks CollectiveBuffers::taken_by(int rank) const {
  Blocks blocks;
  switch (call_.what) {
    case Collective::all_reduce:
    case Collective::broadcast: return {{0, call_.count}};
    case Collective::reduce: return rank == call_.root ? Blocks{{0, call_.count}} : Blocks{};
    case Collective::reduce_scatter:
    case Collective::scatter: return {{0, size_between(call_.root, rank)}};
    case Collective::gather:
      if (rank != call_.root) return {};
      break;
    case Collective::barrier: return {};
    default: break;
  }
  size_t at = 0;
  for (int from = 0; from < nranks_; ++from) {
    blocks.push_back({at, size_between(from, rank)});
    at = blocks.back().end() + (call_.uneven ? static_cast<size_t>(from % 2) : 0);
  }
  return blocks;
}

bool CollectiveBuffers::takes_part_as_root() const { return !schedule::has_root(call_.what) || rank_ == call_.root; }

void CollectiveBuffers::lay_out() {
  const size_t size = element_bytes(call_.type);
  const auto own = static_cast<size_t>(rank_);
  shares_memory_ = call_.in_place && takes_part_as_root();
  if (!shares_memory_) {
    poison(input_, end_of(given_) * size);
    poison(output_, end_of(taken_) * size);
    input_at_ = offset_in(input_, 2 * call_.misaligned);
    output_at_ = offset_in(output_, call_.misaligned);
    return;
  }
  poison(output_, std::max(end_of(given_), end_of(taken_)) * size);
  input_at_ = output_at_ = offset_in(output_, call_.misaligned);
  if (call_.what == Collective::all_gather || call_.what == Collective::gather) input_at_ += taken_[own].offset * size;
  if (call_.what == Collective::reduce_scatter || call_.what == Collective::scatter)
    output_at_ += given_[own].offset * size;
}

void CollectiveBuffers::fill() {
  if (call_.what == Collective::broadcast && rank_ != call_.root) return;
  const size_t size = element_bytes(call_.type);
  std::byte* input = (shares_memory_ ? output_ : input_).data() + input_at_;
  const int factor = call_.op == rondeAvg && schedule::reduces(call_.what) ? nranks_ : 1;
  for (const schedule::Range& block : given_) {
    for (size_t i = block.offset; i < block.end(); ++i)
      store_value(call_.type, input + i * size, small_value(rank_, i) * factor);
  }
}

OperationArgs CollectiveBuffers::args() {
  OperationArgs args;
  args.send = (shares_memory_ ? output_ : input_).data() + input_at_;
  args.receive = output_.data() + output_at_;
  args.count = call_.what == Collective::barrier ? 0 : call_.count;
  args.type = call_.type;
  args.op = call_.op;
  args.what = call_.what;
  args.root = call_.root;
  args.uneven = call_.uneven;
  if (given_.empty()) args.send = nullptr;
  if (taken_.empty()) args.receive = nullptr;
  if (!call_.uneven) return args;
  auto blocks = std::make_shared<UnevenBlocks>();
  args.count = 0;
  const auto total = [&](const Blocks& all) {
    for (const schedule::Range& block : all) args.count += block.count;
  };
  switch (call_.what) {
    case Collective::all_gather:
      blocks->receive = taken_;
      total(taken_);
      break;
    case Collective::reduce_scatter:
      blocks->send = given_;
      total(given_);
      break;
    case Collective::gather:
      blocks->receive = taken_;
      total(given_);
      break;
    case Collective::scatter:
      blocks->send = given_;
      total(taken_);
      break;
    default:
      blocks->send = given_;
      blocks->receive = taken_;
      break;
  }
  args.blocks = std::move(blocks);
  return args;
}

double CollectiveBuffers::expected(size_t block, size_t index) const {
  const auto own = static_cast<size_t>(rank_);
  const auto reduced = [&](size_t place) {
    int sum = 0;
    int greatest = -100;
    for (int rank = 0; rank < nranks_; ++rank) {
      sum += small_value(rank, place) * (call_.op == rondeAvg ? nranks_ : 1);
      greatest = std::max(greatest, small_value(rank, place));
    }
    if (call_.op == rondeMax) return greatest;
    if (call_.type == rondeInt8) sum = static_cast<int8_t>(sum);  // integers wrap before they are divided
    return call_.op == rondeAvg ? sum / nranks_ : sum;
  };
  const auto from = static_cast<int>(block);
  switch (call_.what) {
    case Collective::all_reduce:
    case Collective::reduce: return reduced(index);
    case Collective::reduce_scatter: return reduced(given_[own].offset + index);
    case Collective::broadcast: return small_value(call_.root, index);
    case Collective::scatter: return small_value(call_.root, given_by(call_.root)[own].offset + index);
    case Collective::all_to_all: return small_value(from, given_by(from)[own].offset + index);
    default: return small_value(from, index);
  }
}

Status CollectiveBuffers::check() const {
  const size_t size = element_bytes(call_.type);
  const auto wrong = [&](const std::string& what) {
    return Status(rondeInternalError, fmt::format("rank {} of {}, {}: {}", rank_, nranks_, text_of(call_), what));
  };
  std::pmr::vector<std::byte> untouched = output_;  // with the result taken out
  for (size_t block = 0; block < taken_.size(); ++block) {
    for (size_t i = 0; i < taken_[block].count; ++i) {
      const size_t at = output_at_ + (taken_[block].offset + i) * size;
      const double found = load_value(call_.type, output_.data() + at);
      if (const double want = expected(block, i); found != want)
        return wrong(fmt::format("element {} of block {} is {}, expected {}", i, block, found, want));
    }
    const size_t begin = output_at_ + taken_[block].offset * size;
    if (taken_[block].count > 0)
      std::memcpy(untouched.data() + begin, output_before_.data() + begin, taken_[block].count * size);
  }
  if (untouched != output_before_) return wrong("something beside the result was written");
  if (input_ != input_before_) return wrong("the input was changed");
  return {};
}

Status run_collectives(World& world, const std::vector<CollectiveCall>& calls,
                       const std::function<std::pmr::memory_resource*(int rank)>& memory) {
  return first_failure(world.run([&](Communicator& comm) -> Status {
    for (const CollectiveCall& call : calls) {
      CollectiveBuffers buffers(call, comm.rank(), comm.nranks(),
                                memory ? memory(comm.rank()) : std::pmr::get_default_resource());
      RONDE_TRY(comm.run(buffers.args()));
      RONDE_TRY(buffers.check());
    }
    return {};
  }));
}

std::vector<CollectiveCall> mixed_collectives(int nranks, size_t turn, size_t largest_count) {
  constexpr std::array kKinds = {Collective::reduce_scatter, Collective::all_gather, Collective::broadcast,
                                 Collective::reduce,         Collective::all_reduce, Collective::all_to_all,
                                 Collective::gather,         Collective::scatter,    Collective::barrier};
  constexpr std::array kTypes = {rondeFloat32, rondeInt8, rondeBfloat16, rondeFloat64};
  constexpr std::array kOps = {rondeSum, rondeAvg, rondeMax};
  std::vector<CollectiveCall> calls;
  for (const size_t count :
       {size_t{0}, size_t{1}, size_t{3}, size_t{14}, size_t{100}, size_t{5'000}, size_t{70'001}, size_t{300'001}}) {
    if (count > largest_count) continue;
    for (const Collective what : kKinds) {
      if (count > 70'001 && what == Collective::barrier) continue;
      for (size_t again = 0; again < (count > 5'000 ? 1u : 2u); ++again, ++turn) {
        CollectiveCall call;
        call.what = what;
        call.count = count;
        call.type = kTypes[turn % kTypes.size()];
        call.op = kOps[turn / 2 % kOps.size()];
        call.root = static_cast<int>(turn % static_cast<size_t>(nranks));
        call.in_place = turn / 3 % 2 == 0;
        call.uneven = has_blocks(what) && (turn + again) % 3 == 0;
        if (call.uneven && what == Collective::all_to_all) call.in_place = false;
        if (turn % 5 == 0) call.misaligned = element_bytes(call.type) * (turn % 7 + 1);
        calls.push_back(call);
      }
    }
  }
  return calls;
}

}  // namespace ronde::testing
