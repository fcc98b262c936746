// rondeAllReduce under the common loop. Started by ronderun (or another launcher) it is one rank; alone it forks the
// ranks that -n asks for, so that nothing but the library itself has a part in what is measured.
#include <ronde/ronde.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "peers/measure.h"

namespace {

void must(rondeResult_t result, const char* what) {
  if (result == rondeSuccess) return;
  std::fprintf(stderr, "%s: %s: %s\n", what, rondeGetErrorString(result), rondeGetLastError(nullptr));
  std::exit(1);
}

class RondePeer final : public peers::Peer {
 public:
  RondePeer(int nranks, const rondeUniqueId& id, int rank) : rank_(rank), nranks_(nranks) {
    must(rondeCommInitRank(&comm_, nranks, id, rank), "rondeCommInitRank");
  }
  ~RondePeer() override { must(rondeCommDestroy(comm_), "rondeCommDestroy"); }
  RondePeer(const RondePeer&) = delete;
  RondePeer& operator=(const RondePeer&) = delete;
  [[nodiscard]] int rank() const override { return rank_; }
  [[nodiscard]] int nranks() const override { return nranks_; }
  void all_reduce(const float* in, float* out, std::size_t count) override {
    must(rondeAllReduce(in, out, count, rondeFloat32, rondeSum, comm_, nullptr), "rondeAllReduce");
  }
  void barrier() override { (void)combine(0, rondeMax); }
  double max_over_ranks(double value) override { return combine(value, rondeMax); }
  double sum_over_ranks(double value) override { return combine(value, rondeSum); }

 private:
  double combine(double value, rondeRedOp_t op) {
    must(rondeAllReduce(&value, &value, 1, rondeFloat64, op, comm_, nullptr), "rondeAllReduce");
    return value;
  }
  rondeComm_t comm_ = nullptr;
  int rank_;
  int nranks_;
};

int run_rank(const peers::Options& options, int nranks, const rondeUniqueId& id, int rank) {
  RondePeer peer(nranks, id, rank);
  return peers::measure(peer, options);
}

// Rank 0 makes the id and writes it into one pipe for each other rank.
struct Pipe {
  int read_end;
  int write_end;
};

int run_forked(const peers::Options& options, int rank, const std::vector<Pipe>& pipes) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  rondeUniqueId id;
  if (rank == 0) {
    must(rondeGetUniqueId(&id), "rondeGetUniqueId");
    for (const Pipe& pipe : pipes) {
      if (write(pipe.write_end, &id, sizeof id) != sizeof id) return 1;
    }
  } else if (read(pipes[static_cast<size_t>(rank)].read_end, &id, sizeof id) != sizeof id) {
    return 1;
  }
  for (const Pipe& pipe : pipes) {
    close(pipe.read_end);
    close(pipe.write_end);
  }
  return run_rank(options, options.nranks, id, rank);
}

// The first failure ends the others.
int wait_for(std::vector<pid_t> children) {
  int exit_code = 0;
  int status = 0;
  for (pid_t ended; (ended = wait(&status)) > 0;) {
    std::erase(children, ended);
    if (status == 0 || exit_code != 0) continue;
    exit_code = 1;
    for (const pid_t child : children) kill(child, SIGKILL);
  }
  return exit_code;
}

int start_ranks(const peers::Options& options) {
  std::vector<Pipe> pipes;
  for (int rank = 0; rank < options.nranks; ++rank) {
    int ends[2];
    if (pipe(ends) != 0) return std::perror("pipe"), 1;
    pipes.push_back({ends[0], ends[1]});
  }
  std::vector<pid_t> children;
  for (int rank = 0; rank < options.nranks; ++rank) {
    const pid_t child = fork();
    if (child < 0) return std::perror("fork"), 1;
    if (child == 0) std::exit(run_forked(options, rank, pipes));
    children.push_back(child);
  }
  for (const Pipe& pipe : pipes) {
    close(pipe.read_end);
    close(pipe.write_end);
  }
  return wait_for(std::move(children));
}

bool has_launcher() {
  for (const char* name : {"RONDE_NRANKS", "OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_NTASKS", "WORLD_SIZE"}) {
    if (std::getenv(name) != nullptr) return true;
  }
  return false;
}

}  // namespace

int main(int argc, char** argv) {
  const peers::Options options = peers::parse_options(argc, argv, "ronde");
  if (!has_launcher()) return start_ranks(options);
  rondeWorld_t world{};
  world.size = sizeof world;
  rondeUniqueId id;
  must(rondeGetWorldFromEnv(&world, &id), "rondeGetWorldFromEnv");
  return run_rank(options, world.nranks, id, world.rank);
}
