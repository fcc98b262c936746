// Measures and checks rondeScatter.
#include "common/collective.h"

namespace {

class Scatter final : public perf::Collective {
 public:
  perf::Facts facts() const override {
    return {.program = "scatter_perf",
            .description =
                "Measures and checks scatter: rank r gets block r of the root's buffer.\n"
                "Flags and columns are those of nccl-tests.",
            .function = "rondeScatter",
            .size = "n * count * element size",
            .bus_factor = "(n-1)/n",
            .has_root = true};
  }

  perf::Shape shape(std::size_t bytes, std::size_t element_bytes, int nranks) const override {
    return perf::shape_of_blocks(bytes, element_bytes, nranks, perf::Blocks::kAll, perf::Blocks::kOne);
  }

  double bus_factor(int nranks) const override { return static_cast<double>(nranks - 1) / nranks; }

  double ideal_bytes(const perf::Shape& shape, std::size_t element_bytes, int rank, int nranks,
                     int root) const override {
    return static_cast<double>(shape.count * element_bytes) * (rank == root ? nranks - 1 : 1);
  }

  rondeResult_t start(const perf::Call& call) const override {
    return rondeScatter(call.send, call.recv, call.count, call.type, call.root, call.comm, call.stream);
  }

  std::size_t gives(const perf::Shape& shape, int rank, int /*nranks*/, int root) const override {
    return rank == root ? shape.send_count : 0;
  }

  std::vector<perf::Segment> expected(const perf::Shape& shape, int rank, int /*nranks*/, int root) const override {
    return {{root, static_cast<std::size_t>(rank) * shape.count, shape.count}};
  }
};

}  // namespace

int main(int argc, char** argv) { return perf::perf_main(Scatter(), argc, argv); }
