// Measures and checks rondeSend and rondeRecv in one group: each rank sends to the next one and receives from the one
// before.
#include "common/collective.h"

namespace {

class SendRecv final : public perf::Collective {
 public:
  perf::Facts facts() const override {
    return {.program = "sendrecv_perf",
            .description =
                "Measures and checks sends and receives: every rank sends to the next one and receives from the one "
                "before.\n"
                "Flags and columns are those of nccl-tests.",
            .function = "rondeSend and rondeRecv",
            .size = "count * element size",
            .bus_factor = "1",
            .in_place = false,
            .at_once = true};
  }

  perf::Shape shape(std::size_t bytes, std::size_t element_bytes, int /*nranks*/) const override {
    const std::size_t count = bytes / element_bytes;
    return {.bytes = count * element_bytes, .count = count, .send_count = count, .recv_count = count};
  }

  double bus_factor(int /*nranks*/) const override { return 1; }

  rondeResult_t start(const perf::Call& call) const override {
    const int next = (call.rank + 1) % call.nranks;
    const int previous = (call.rank + call.nranks - 1) % call.nranks;
    return perf::in_group([&] {
      const rondeResult_t sent = rondeSend(call.send, call.count, call.type, next, call.comm, call.stream);
      if (sent != rondeSuccess) return sent;
      return rondeRecv(call.recv, call.count, call.type, previous, call.comm, call.stream);
    });
  }

  std::vector<perf::Segment> expected(const perf::Shape& shape, int rank, int nranks, int /*root*/) const override {
    return {{(rank + nranks - 1) % nranks, 0, shape.count}};
  }
};

}  // namespace

int main(int argc, char** argv) { return perf::perf_main(SendRecv(), argc, argv); }
