// Measures and checks rondeReduceScatter.
#include "common/collective.h"

namespace {

class ReduceScatter final : public perf::Collective {
 public:
  perf::Facts facts() const override {
    return {.program = "reduce_scatter_perf",
            .description =
                "Measures and checks reduce-scatter: rank r gets block r of the reduction.\n"
                "Flags and columns are those of nccl-tests.",
            .function = "rondeReduceScatter",
            .size = "n * count * element size",
            .bus_factor = "(n-1)/n",
            .reduces = true};
  }

  perf::Shape shape(std::size_t bytes, std::size_t element_bytes, int nranks) const override {
    return perf::shape_of_blocks(bytes, element_bytes, nranks, perf::Blocks::kAll, perf::Blocks::kOne);
  }

  double bus_factor(int nranks) const override { return static_cast<double>(nranks - 1) / nranks; }

  rondeResult_t start(const perf::Call& call) const override {
    return rondeReduceScatter(call.send, call.recv, call.count, call.type, call.op, call.comm, call.stream);
  }

  std::vector<perf::Segment> expected(const perf::Shape& shape, int rank, int /*nranks*/, int /*root*/) const override {
    return {{perf::Segment::kReduced, static_cast<std::size_t>(rank) * shape.count, shape.count}};
  }
};

}  // namespace

int main(int argc, char** argv) { return perf::perf_main(ReduceScatter(), argc, argv); }
