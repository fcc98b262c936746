// Measures and checks rondeAllGather.
#include "common/collective.h"

namespace {

class AllGather final : public perf::Collective {
 public:
  perf::Facts facts() const override {
    return {.program = "all_gather_perf",
            .description =
                "Measures and checks all-gather: every rank gets the blocks of all.\n"
                "Flags and columns are those of nccl-tests.",
            .function = "rondeAllGather",
            .size = "n * count * element size",
            .bus_factor = "(n-1)/n"};
  }

  perf::Shape shape(std::size_t bytes, std::size_t element_bytes, int nranks) const override {
    return perf::shape_of_blocks(bytes, element_bytes, nranks, perf::Blocks::kOne, perf::Blocks::kAll);
  }

  double bus_factor(int nranks) const override { return static_cast<double>(nranks - 1) / nranks; }

  rondeResult_t start(const perf::Call& call) const override {
    return rondeAllGather(call.send, call.recv, call.count, call.type, call.comm, call.stream);
  }

  std::vector<perf::Segment> expected(const perf::Shape& shape, int /*rank*/, int nranks, int /*root*/) const override {
    return perf::part_of_each(nranks, 0, shape.count);
  }
};

}  // namespace

int main(int argc, char** argv) { return perf::perf_main(AllGather(), argc, argv); }
