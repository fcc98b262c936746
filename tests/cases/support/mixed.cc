#include "cases/support/mixed.h"

#include <algorithm>
#include <array>

#include "cases/support/ranks.h"

namespace ronde::cases {
namespace {

constexpr uint32_t kFiller = 0xfefefefe;
constexpr size_t kRoomBehind = 4;
constexpr std::array kKindNames = {"AllReduce", "ReduceScatter", "AllGather", "Broadcast", "Reduce",
                                   "AlltoAll",  "Gather",        "Scatter",   "Barrier",   "messages"};
constexpr std::array kOpNames = {"sum", "max", "bitxor", "PreMulSum", "composition"};
static_assert(kKindNames.size() == static_cast<size_t>(Kind::number_of_kinds));
static_assert(kOpNames.size() == static_cast<size_t>(Op::number_of_ops));

// Small enough to be a message of one line, more than a slot, and between.
constexpr std::array<size_t, 12> kCounts = {0, 1, 2, 3, 13, 14, 15, 100, 500, 1000, 4099, 20'011};

uint32_t value(uint32_t number, int rank, size_t index) {
  const uint64_t place = (uint64_t{number} << 40) + (static_cast<uint64_t>(rank) << 32) + index;
  return static_cast<uint32_t>((place * 0x9e3779b97f4a7c15u) >> 32);
}

// Affine maps x -> a x + b modulo 2^16, packed: their composition is associative, but not commutative.
uint32_t compose(uint32_t left, uint32_t right) {
  const uint32_t a = (left >> 16) * (right >> 16);
  const uint32_t b = (left >> 16) * (right & 0xffff) + (left & 0xffff);
  return a << 16 | (b & 0xffff);
}

void compose_all(const void* left, const void* right, void* result, size_t count, rondeDataType_t, void*) {
  for (size_t i = 0; i < count; ++i) {
    static_cast<uint32_t*>(result)[i] =
        compose(static_cast<const uint32_t*>(left)[i], static_cast<const uint32_t*>(right)[i]);
  }
}

uint32_t scalar_of(int rank) { return static_cast<uint32_t>(rank) * 2 + 3; }

uint32_t combine(Op op, uint32_t left, uint32_t right) {
  switch (op) {
    case Op::max: return std::max(left, right);
    case Op::bit_xor: return left ^ right;
    case Op::composition: return compose(left, right);
    default: return left + right;
  }
}

}  // namespace

Member::Member(rondeComm_t comm) : comm_(comm) {
  expect_success(rondeCommUserRank(comm, &rank_), "rondeCommUserRank");
  expect_success(rondeCommCount(comm, &nranks_), "rondeCommCount");
  const uint32_t scalar = scalar_of(rank_);
  expect_success(rondeRedOpCreatePreMulSum(&pre_mul_sum_, &scalar, rondeUint32, rondeScalarHostImmediate, comm),
                 "rondeRedOpCreatePreMulSum");
  expect_success(rondeRedOpCreate(&composition_, compose_all, 0, nullptr, comm), "rondeRedOpCreate");
}

Member::~Member() {
  rondeRedOpDestroy(pre_mul_sum_, comm_);
  rondeRedOpDestroy(composition_, comm_);
}

rondeRedOp_t Member::reduction(Op op) const {
  switch (op) {
    case Op::max: return rondeMax;
    case Op::bit_xor: return rondeBitXor;
    case Op::pre_mul_sum: return pre_mul_sum_;
    case Op::composition: return composition_;
    default: return rondeSum;
  }
}

Drawn Drawn::draw(std::mt19937& random, int nranks) {
  // One after the other: in which order arguments are evaluated is the compiler's choice, which all ranks share, but
  // another build would draw others from the same seed.
  Drawn drawn;
  drawn.number = static_cast<uint32_t>(random());
  drawn.kind = static_cast<Kind>(random() % static_cast<uint32_t>(Kind::number_of_kinds));
  drawn.op = static_cast<Op>(random() % static_cast<uint32_t>(Op::number_of_ops));
  drawn.count = kCounts[random() % kCounts.size()];
  drawn.root = static_cast<int>(random() % static_cast<uint32_t>(nranks));
  drawn.in_place = random() % 2 == 0 && (drawn.kind == Kind::all_reduce || drawn.kind == Kind::broadcast);
  return drawn;
}

MixedOperation::MixedOperation(const Drawn& drawn, const Member& member) : drawn_(drawn), member_(member) {
  send_.resize(blocks_sent() * drawn.count);
  for (size_t i = 0; i < send_.size(); ++i) send_[i] = value(drawn.number, member.rank(), i);
  receive_.assign(elements_received() + kRoomBehind, kFiller);
  if (drawn.in_place) std::copy(send_.begin(), send_.end(), receive_.begin());
}

size_t MixedOperation::blocks_sent() const {
  switch (drawn_.kind) {
    case Kind::barrier: return 0;
    case Kind::reduce_scatter:
    case Kind::all_to_all:
    case Kind::scatter: return static_cast<size_t>(member_.nranks());
    default: return 1;
  }
}

size_t MixedOperation::elements_received() const {
  const auto n = static_cast<size_t>(member_.nranks());
  const bool is_root = member_.rank() == drawn_.root;
  switch (drawn_.kind) {
    case Kind::barrier: return 0;
    case Kind::all_gather:
    case Kind::all_to_all: return n * drawn_.count;
    case Kind::gather: return is_root ? n * drawn_.count : 0;
    case Kind::reduce: return is_root ? drawn_.count : 0;
    default: return drawn_.count;
  }
}

uint32_t MixedOperation::reduced(size_t index) const {
  const auto input = [&](int rank) {
    const uint32_t given = value(drawn_.number, rank, index);
    return drawn_.op == Op::pre_mul_sum ? given * scalar_of(rank) : given;
  };
  uint32_t result = input(0);
  for (int rank = 1; rank < member_.nranks(); ++rank) result = combine(drawn_.op, result, input(rank));
  return result;
}

uint32_t MixedOperation::expected(size_t index) const {
  const int n = member_.nranks();
  const size_t own_block = static_cast<size_t>(member_.rank()) * drawn_.count;
  const auto block = [&] { return static_cast<int>(index / drawn_.count); };
  switch (drawn_.kind) {
    case Kind::all_reduce:
    case Kind::reduce: return reduced(index);
    case Kind::reduce_scatter: return reduced(own_block + index);
    case Kind::all_gather:
    case Kind::gather: return value(drawn_.number, block(), index % drawn_.count);
    case Kind::all_to_all: return value(drawn_.number, block(), own_block + index % drawn_.count);
    case Kind::broadcast: return value(drawn_.number, drawn_.root, index);
    case Kind::scatter: return value(drawn_.number, drawn_.root, own_block + index);
    default: return value(drawn_.number, (member_.rank() + n - drawn_.root) % n, index);  // messages
  }
}

void MixedOperation::call(rondeStream_t stream) { expect_success(begin(stream), name()); }

rondeResult_t MixedOperation::begin(rondeStream_t stream) {
  const auto& [number, kind, of_drawn, count, root, in_place] = drawn_;
  constexpr rondeDataType_t kType = rondeUint32;
  const rondeRedOp_t op = member_.reduction(of_drawn);
  const rondeComm_t comm = member_.comm();
  void* out = receive_.data();
  const void* in = in_place ? out : send_.data();
  switch (kind) {
    case Kind::all_reduce: return rondeAllReduce(in, out, count, kType, op, comm, stream);
    case Kind::reduce_scatter: return rondeReduceScatter(in, out, count, kType, op, comm, stream);
    case Kind::all_gather: return rondeAllGather(in, out, count, kType, comm, stream);
    case Kind::broadcast: return rondeBroadcast(in, out, count, kType, root, comm, stream);
    case Kind::reduce: return rondeReduce(in, out, count, kType, op, root, comm, stream);
    case Kind::all_to_all: return rondeAlltoAll(in, out, count, kType, comm, stream);
    case Kind::gather: return rondeGather(in, out, count, kType, root, comm, stream);
    case Kind::scatter: return rondeScatter(in, out, count, kType, root, comm, stream);
    case Kind::barrier: return rondeBarrier(comm, stream);
    default: return exchange(stream);
  }
}

// With the rank that is `root` further, or with itself.
rondeResult_t MixedOperation::exchange(rondeStream_t stream) {
  const int n = member_.nranks();
  const int to = (member_.rank() + drawn_.root) % n;
  const int from = (member_.rank() + n - drawn_.root) % n;
  rondeGroupStart();
  expect_success(rondeSend(send_.data(), drawn_.count, rondeUint32, to, member_.comm(), stream), "rondeSend");
  expect_success(rondeRecv(receive_.data(), drawn_.count, rondeUint32, from, member_.comm(), stream), "rondeRecv");
  return rondeGroupEnd();
}

void MixedOperation::check() const {
  const size_t elements = elements_received();
  for (size_t i = 0; i < elements; ++i) {
    if (receive_[i] == expected(i)) continue;
    throw Unexpected(name() + ": element " + std::to_string(i) + " is wrong");
  }
  for (size_t i = elements; i < receive_.size(); ++i) expect(receive_[i] == kFiller, name() + ": written behind it");
  if (drawn_.in_place) return;
  for (size_t i = 0; i < send_.size(); ++i) {
    expect(send_[i] == value(drawn_.number, member_.rank(), i), name() + ": an input has changed");
  }
}

std::string MixedOperation::name() const {
  return std::string(kKindNames[static_cast<size_t>(drawn_.kind)]) + " (" + kOpNames[static_cast<size_t>(drawn_.op)] +
         ", " + std::to_string(drawn_.count) + " elements, root " + std::to_string(drawn_.root) +
         (drawn_.in_place ? ", in place" : "") + ")";
}

}  // namespace ronde::cases
