// Every function of ronde.hpp with every kind of buffer, to be compiled and never run; and what must not compile.
#include <ronde/ronde.hpp>

// The header brings what it needs; these are for this file.
#include <array>
#include <vector>

struct Half {
  unsigned short bits;
};
template <>
struct ronde::DataType<Half> : std::integral_constant<rondeDataType_t, rondeFloat16> {};

struct Wrong {  // a size that the type of the library does not have
  int a, b;
};
template <>
struct ronde::DataType<Wrong> : std::integral_constant<rondeDataType_t, rondeInt32> {};

namespace {

static_assert(ronde::Element<Half> && ronde::Element<char> && ronde::Element<signed char> && ronde::Element<std::byte>);
static_assert(ronde::Element<long> && ronde::Element<long long> && ronde::Element<unsigned> && ronde::Element<double>);
static_assert(!ronde::Element<bool> && !ronde::Element<short> && !ronde::Element<Wrong> && !ronde::Element<int*>);
static_assert(ronde::DataType<long>::value == rondeInt64 && ronde::DataType<unsigned char>::value == rondeUint8);
static_assert(ronde::Output<std::vector<float>> && ronde::Output<int[3]> && ronde::Output<std::span<double>>);
static_assert(ronde::Input<const std::vector<float>> && !ronde::Output<const std::vector<float>>);
static_assert(!ronde::Output<std::span<const float>> && !ronde::Input<std::vector<bool>> && !ronde::Input<int>);

template <class T>
constexpr bool kMoveOnly = std::is_nothrow_move_constructible_v<T>&& std::is_nothrow_move_assignable_v<T> &&
                           !std::is_copy_constructible_v<T> && !std::is_copy_assignable_v<T>;
static_assert(kMoveOnly<ronde::Communicator> && kMoveOnly<ronde::Stream> && kMoveOnly<ronde::Event>);
static_assert(kMoveOnly<ronde::Reduction<float>> && !std::is_move_constructible_v<ronde::Group>);
static_assert(kMoveOnly<ronde::Buffer<float>> && kMoveOnly<ronde::Window<float>>);
static_assert(ronde::Output<ronde::Buffer<float>> && ronde::Input<const ronde::Buffer<float>>);
static_assert(!ronde::Output<const ronde::Buffer<float>>);
static_assert(!std::is_convertible_v<ronde::Reduction<float>, ronde::Op<double>>);

using Floats = std::vector<float>;

template <class Op>
void reductions(const ronde::Communicator& comm, const Op& op, Floats& a, Floats& b, ronde::Counts counts,
                const ronde::Stream& stream) {
  comm.all_reduce(a, b, op);
  comm.all_reduce(std::span<const float>(a), std::span(b), op, stream);
  comm.all_reduce(a, op, stream);
  comm.reduce(a, b, op, 0, stream);
  comm.reduce(a, op, 0);
  comm.reduce_scatter(a, b, op, stream);
  comm.reduce_scatter(a, op)[0] = 1;
  comm.reduce_scatter_v(a, b, counts, op);
  comm.reduce_scatter_v(a, b, counts, op, counts, stream);
}

}  // namespace

void every_function(const ronde::Communicator& comm, const ronde::Stream& stream) {
  Floats a(4);
  Floats b(4);
  const Floats fixed(4);
  std::array<Half, 4> halves{};
  int raw[4] = {};
  const std::vector<std::size_t> counts(4);
  const std::span<float> none;

  reductions(comm, rondeSum, a, b, counts, stream);
  reductions(comm, ronde::Reduction<float>(comm, std::plus<>()), a, b, counts, stream);
  reductions(comm, ronde::Reduction<float>::scaled_sum(comm, 2), a, b, counts, stream);
  comm.all_reduce(halves, rondeAvg);
  comm.all_reduce(raw, raw, rondeBitOr, stream);
  comm.reduce(fixed, none, rondeSum, 1);

  comm.all_gather(fixed, b, stream);
  comm.all_gather(std::span(a), std::span(b));
  comm.all_gather(a, stream);
  comm.all_gather_v(a, b, counts, {}, stream);
  comm.broadcast(fixed, b, 0, stream);
  comm.broadcast(raw, 0);
  comm.all_to_all(fixed, b);
  comm.all_to_all(a, stream);
  comm.all_to_all_v(a, counts, b, counts, counts, counts, stream);
  comm.gather(a, none, 0, stream);
  comm.gather_v(a, none, {}, 0, {}, stream);
  comm.scatter(none, a, 0, stream);
  comm.scatter_v(none, {}, a, 0, {}, stream);
  comm.send(fixed, 1, stream);
  comm.recv(raw, 1, stream);
  comm.barrier(stream);
}
