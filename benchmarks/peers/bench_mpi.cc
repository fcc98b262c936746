// MPI_Allreduce under the common loop; built once for each MPI that is installed.
#include <mpi.h>

#include "peers/measure.h"

namespace {

class MpiPeer final : public peers::Peer {
 public:
  MpiPeer() {
    MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
    MPI_Comm_size(MPI_COMM_WORLD, &nranks_);
  }
  [[nodiscard]] int rank() const override { return rank_; }
  [[nodiscard]] int nranks() const override { return nranks_; }
  // The default error handler of MPI ends the program.
  void all_reduce(const float* in, float* out, std::size_t count) override {
    MPI_Allreduce(in, out, static_cast<int>(count), MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
  }
  void barrier() override { MPI_Barrier(MPI_COMM_WORLD); }
  double max_over_ranks(double value) override { return combine(value, MPI_MAX); }
  double sum_over_ranks(double value) override { return combine(value, MPI_SUM); }

 private:
  static double combine(double value, MPI_Op op) {
    double result = 0;
    MPI_Allreduce(&value, &result, 1, MPI_DOUBLE, op, MPI_COMM_WORLD);
    return result;
  }
  int rank_ = 0;
  int nranks_ = 1;
};

}  // namespace

int main(int argc, char** argv) {
  const peers::Options options = peers::parse_options(argc, argv, "mpi");
  MPI_Init(&argc, &argv);
  MpiPeer peer;
  const int exit_code = peers::measure(peer, options);
  MPI_Finalize();
  return exit_code;
}
