// Measures and checks an all-gather made of sends and receives: in round k each rank exchanges all that it has with the
// rank whose number differs in bit k.
#include <fmt/format.h>

#include <bit>

#include "common/collective.h"
#include "common/data_types.h"

namespace {

class Hypercube final : public perf::Collective {
 public:
  perf::Facts facts() const override {
    return {
        .program = "hypercube_perf",
        .description =
            "Measures and checks an all-gather by sends and receives: log2 n rounds, in which two ranks each exchange\n"
            "what they have. The number of ranks must be a power of two.\n"
            "Flags and columns are those of nccl-tests.",
        .function = "rondeSend and rondeRecv",
        .size = "(n-1) * count * element size",
        .bus_factor = "1",
        .at_once = true};
  }

  std::string take_ranks(int nranks) override {
    if (std::has_single_bit(static_cast<unsigned>(nranks))) return {};
    return fmt::format("needs 1, 2, 4, 8 ... ranks, a power of two; there are {}", nranks);
  }

  perf::Shape shape(std::size_t bytes, std::size_t element_bytes, int nranks) const override {
    const std::size_t count = perf::block_count(bytes, element_bytes, nranks - 1);
    const auto others = static_cast<std::size_t>(std::max(nranks - 1, 1));
    return {.bytes = others * count * element_bytes,
            .count = count,
            .send_count = count,
            .recv_count = static_cast<std::size_t>(nranks) * count,
            .in_place_send = count};
  }

  double bus_factor(int /*nranks*/) const override { return 1; }

  int rounds(int nranks) const override {
    // One rank has a round too: its own block comes into its place.
    return std::max(static_cast<int>(std::bit_width(static_cast<unsigned>(nranks))) - 1, 1);
  }

  rondeResult_t start(const perf::Call& call) const override {
    return perf::in_group([&] {
      const rondeResult_t placed = call.round == 0 && !call.in_place ? place_own(call) : rondeSuccess;
      return placed == rondeSuccess && call.nranks > 1 ? exchange(call) : placed;
    });
  }

  std::vector<perf::Segment> expected(const perf::Shape& shape, int /*rank*/, int nranks, int /*root*/) const override {
    return perf::part_of_each(nranks, 0, shape.count);
  }

 private:
  static std::byte* block(const perf::Call& call, int rank) {
    return static_cast<std::byte*>(call.recv) +
           static_cast<std::size_t>(rank) * call.count * perf::type_info(call.type).bytes;
  }

  // By a message to itself, as a copy by the program would not wait for what is queued on the stream.
  static rondeResult_t place_own(const perf::Call& call) {
    const rondeResult_t sent = rondeSend(call.send, call.count, call.type, call.rank, call.comm, call.stream);
    if (sent != rondeSuccess) return sent;
    return rondeRecv(block(call, call.rank), call.count, call.type, call.rank, call.comm, call.stream);
  }

  static rondeResult_t exchange(const perf::Call& call) {
    const int blocks = 1 << call.round;  // that a rank has so far: those of the ranks that differ in lower bits only
    const int peer = call.rank ^ blocks;
    const auto first = [&](int rank) { return rank / blocks * blocks; };
    const std::size_t count = static_cast<std::size_t>(blocks) * call.count;
    const void* own = call.round == 0 ? call.send : block(call, first(call.rank));
    const rondeResult_t sent = rondeSend(own, count, call.type, peer, call.comm, call.stream);
    if (sent != rondeSuccess) return sent;
    return rondeRecv(block(call, first(peer)), count, call.type, peer, call.comm, call.stream);
  }
};

}  // namespace

int main(int argc, char** argv) { return perf::perf_main(Hypercube(), argc, argv); }
