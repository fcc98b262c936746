// Measures and checks rondeBroadcast.
#include "common/collective.h"

namespace {

class Broadcast final : public perf::Collective {
 public:
  perf::Facts facts() const override {
    return {.program = "broadcast_perf",
            .description =
                "Measures and checks broadcast: every rank gets the root's buffer.\n"
                "Flags and columns are those of nccl-tests.",
            .function = "rondeBroadcast",
            .size = "count * element size",
            .bus_factor = "1",
            .has_root = true};
  }

  perf::Shape shape(std::size_t bytes, std::size_t element_bytes, int /*nranks*/) const override {
    const std::size_t count = bytes / element_bytes;
    return {.bytes = count * element_bytes, .count = count, .send_count = count, .recv_count = count};
  }

  double bus_factor(int /*nranks*/) const override { return 1; }

  rondeResult_t start(const perf::Call& call) const override {
    return rondeBroadcast(call.send, call.recv, call.count, call.type, call.root, call.comm, call.stream);
  }

  std::size_t gives(const perf::Shape& shape, int rank, int /*nranks*/, int root) const override {
    return rank == root ? shape.send_count : 0;
  }

  std::vector<perf::Segment> expected(const perf::Shape& shape, int /*rank*/, int /*nranks*/, int root) const override {
    return {{root, 0, shape.count}};
  }
};

}  // namespace

int main(int argc, char** argv) { return perf::perf_main(Broadcast(), argc, argv); }
