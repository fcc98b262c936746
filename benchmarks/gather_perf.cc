// Measures and checks rondeGather.
#include "common/collective.h"

namespace {

class Gather final : public perf::Collective {
 public:
  perf::Facts facts() const override {
    return {.program = "gather_perf",
            .description =
                "Measures and checks gather: the root gets one block of each rank.\n"
                "Flags and columns are those of nccl-tests.",
            .function = "rondeGather",
            .size = "n * count * element size",
            .bus_factor = "(n-1)/n",
            .has_root = true};
  }

  perf::Shape shape(std::size_t bytes, std::size_t element_bytes, int nranks) const override {
    return perf::shape_of_blocks(bytes, element_bytes, nranks, perf::Blocks::kOne, perf::Blocks::kAll);
  }

  double bus_factor(int nranks) const override { return static_cast<double>(nranks - 1) / nranks; }

  double ideal_bytes(const perf::Shape& shape, std::size_t element_bytes, int rank, int nranks,
                     int root) const override {
    return static_cast<double>(shape.count * element_bytes) * (rank == root ? nranks - 1 : 1);
  }

  rondeResult_t start(const perf::Call& call) const override {
    return rondeGather(call.send, call.recv, call.count, call.type, call.root, call.comm, call.stream);
  }

  std::vector<perf::Segment> expected(const perf::Shape& shape, int rank, int nranks, int root) const override {
    if (rank != root) return {};
    return perf::part_of_each(nranks, 0, shape.count);
  }
};

}  // namespace

int main(int argc, char** argv) { return perf::perf_main(Gather(), argc, argv); }
