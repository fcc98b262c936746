// Measures and checks rondeReduce.
#include "common/collective.h"

namespace {

class Reduce final : public perf::Collective {
 public:
  perf::Facts facts() const override {
    return {.program = "reduce_perf",
            .description =
                "Measures and checks reduce: the root gets the reduction.\n"
                "Flags and columns are those of nccl-tests.",
            .function = "rondeReduce",
            .size = "count * element size",
            .bus_factor = "1",
            .reduces = true,
            .has_root = true};
  }

  perf::Shape shape(std::size_t bytes, std::size_t element_bytes, int /*nranks*/) const override {
    const std::size_t count = bytes / element_bytes;
    return {.bytes = count * element_bytes, .count = count, .send_count = count, .recv_count = count};
  }

  double bus_factor(int /*nranks*/) const override { return 1; }

  rondeResult_t start(const perf::Call& call) const override {
    return rondeReduce(call.send, call.recv, call.count, call.type, call.op, call.root, call.comm, call.stream);
  }

  std::vector<perf::Segment> expected(const perf::Shape& shape, int rank, int /*nranks*/, int root) const override {
    if (rank != root) return {};
    return {{perf::Segment::kReduced, 0, shape.count}};
  }
};

}  // namespace

int main(int argc, char** argv) { return perf::perf_main(Reduce(), argc, argv); }
