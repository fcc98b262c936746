// Measures and checks rondeAllReduce.
#include "common/collective.h"

namespace {

class AllReduce final : public perf::Collective {
 public:
  perf::Facts facts() const override {
    return {.program = "allreduce_perf",
            .description = "Measures and checks allreduce, with the flags and columns of nccl-tests.",
            .function = "rondeAllReduce",
            .size = "count * element size",
            .bus_factor = "2(n-1)/n",
            .reduces = true,
            .replays = true};
  }

  perf::Shape shape(std::size_t bytes, std::size_t element_bytes, int /*nranks*/) const override {
    const std::size_t count = bytes / element_bytes;
    return {.bytes = count * element_bytes, .count = count, .send_count = count, .recv_count = count};
  }

  double bus_factor(int nranks) const override { return 2.0 * (nranks - 1) / nranks; }

  rondeResult_t start(const perf::Call& call) const override {
    return rondeAllReduce(call.send, call.recv, call.count, call.type, call.op, call.comm, call.stream);
  }

  std::vector<perf::Segment> expected(const perf::Shape& shape, int /*rank*/, int /*nranks*/,
                                      int /*root*/) const override {
    return {{perf::Segment::kReduced, 0, shape.count}};
  }
};

}  // namespace

int main(int argc, char** argv) { return perf::perf_main(AllReduce(), argc, argv); }
