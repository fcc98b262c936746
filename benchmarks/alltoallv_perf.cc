// Measures and checks rondeAlltoAllV, with blocks of different sizes.
#include <fmt/format.h>

#include "common/collective.h"
#include "common/traffic_matrix.h"

namespace {

class AllToAllV final : public perf::Collective {
 public:
  perf::Facts facts() const override {
    return {
        .program = "alltoallv_perf",
        .description =
            "Measures and checks all-to-all with blocks of different sizes: rank s sends (1 + s + 2r) mod 4 times\n"
            "count elements to rank r, or what --matrix says.\n"
            "Flags and columns are those of nccl-tests.",
        .function = "rondeAlltoAllV",
        .size = "bytes that the busiest rank sends or receives",
        .bus_factor = "(n-1)/n",
        .in_place = false,
        .own_flag = "--matrix",
        .own_flag_help = "n lines of n whole numbers: line s says how many times count rank s sends to ranks 0, 1 ..."};
  }

  std::string take_own_flag(const std::string& value) override { return perf::TrafficMatrix::read(value, &matrix_); }

  std::string take_ranks(int nranks) override {
    if (matrix_.nranks() == 0) matrix_ = perf::TrafficMatrix::uneven(nranks);
    if (matrix_.nranks() == nranks) return {};
    return fmt::format("--matrix has {} rows, there are {} ranks", matrix_.nranks(), nranks);
  }

  perf::Shape shape(std::size_t bytes, std::size_t element_bytes, int /*nranks*/) const override {
    const std::size_t busiest = matrix_.busiest();
    const std::size_t count = bytes / element_bytes / busiest;
    return {.bytes = busiest * count * element_bytes,
            .count = count,
            .send_count = busiest * count,
            .recv_count = busiest * count};
  }

  double bus_factor(int nranks) const override { return static_cast<double>(nranks - 1) / nranks; }

  double ideal_bytes(const perf::Shape& shape, std::size_t element_bytes, int rank, int /*nranks*/,
                     int /*root*/) const override {
    return static_cast<double>(matrix_.exchanged(rank) * shape.count * element_bytes);
  }

  rondeResult_t start(const perf::Call& call) const override {
    std::vector<std::size_t> send_counts;
    std::vector<std::size_t> recv_counts;
    for (int peer = 0; peer < call.nranks; ++peer) {
      send_counts.push_back(matrix_.at(call.rank, peer) * call.count);
      recv_counts.push_back(matrix_.at(peer, call.rank) * call.count);
    }
    return rondeAlltoAllV(call.send, send_counts.data(), nullptr, call.recv, recv_counts.data(), nullptr, call.type,
                          call.comm, call.stream);
  }

  std::size_t gives(const perf::Shape& shape, int rank, int /*nranks*/, int /*root*/) const override {
    return matrix_.sent(rank) * shape.count;
  }

  std::vector<perf::Segment> expected(const perf::Shape& shape, int rank, int nranks, int /*root*/) const override {
    std::vector<perf::Segment> segments;
    for (int from = 0; from < nranks; ++from) {
      std::size_t before = 0;
      for (int to = 0; to < rank; ++to) before += matrix_.at(from, to);
      segments.push_back({from, before * shape.count, matrix_.at(from, rank) * shape.count});
    }
    return segments;
  }

 private:
  perf::TrafficMatrix matrix_;
};

}  // namespace

int main(int argc, char** argv) { return perf::perf_main(AllToAllV(), argc, argv); }
