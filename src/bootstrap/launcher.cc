#include "bootstrap/launcher.h"

#include <fmt/format.h>
#include <unistd.h>

#include <charconv>
#include <climits>
#include <utility>

#include "base/host.h"
#include "base/settings.h"

namespace ronde {
namespace {

bool is_set(const char* variable) { return environment_variable(variable).has_value(); }

std::string text_of(const char* variable) { return environment_variable(variable).value_or(""); }

Result<int> number_or(const char* variable, int otherwise, int least, int most) {
  if (!is_set(variable)) return otherwise;
  return environment_number(variable, least, most);
}

// Empty names: the launcher does not tell that.
Result<World> world_from(const char* rank, const char* nranks, const char* local_rank, const char* local_nranks) {
  World world;
  RONDE_ASSIGN(world.nranks, environment_number(nranks, 1, INT_MAX));
  RONDE_ASSIGN(world.rank, environment_number(rank, 0, world.nranks - 1));
  RONDE_ASSIGN(world.local_nranks, number_or(local_nranks, 0, 1, world.nranks));
  const int most = world.local_nranks > 0 ? world.local_nranks - 1 : world.nranks - 1;
  RONDE_ASSIGN(world.local_rank, number_or(local_rank, 0, 0, most));
  return world;
}

std::string process_name(int pid) {
  return fmt::format("process {} {}", pid, process_stat(std::to_string(pid)).start_time);
}

// The nearest ancestor of that name: a shell between it and this process does not matter. Else the parent.
std::string ancestor_name(std::string_view name) {
  for (int pid = getppid(); pid > 1;) {
    const ProcessStat stat = process_stat(std::to_string(pid));
    if (stat.pid == 0) break;
    if (stat.name.starts_with(name)) return process_name(pid);
    pid = stat.parent;
  }
  return process_name(getppid());
}

Result<Launcher> from_ronderun() {
  RONDE_ASSIGN(const World world, world_from("RONDE_RANK", "RONDE_NRANKS", "RONDE_LOCAL_RANK", "RONDE_LOCAL_NRANKS"));
  return Launcher{"ronderun", world, false, ""};
}

Result<Launcher> from_torchrun() {
  RONDE_ASSIGN(const World world, world_from("RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE"));
  const std::string port = text_of("MASTER_PORT");
  std::string job = fmt::format("torchrun {} {} {} {}", text_of("TORCHELASTIC_RUN_ID"),
                                text_of("TORCHELASTIC_RESTART_COUNT"), text_of("MASTER_ADDR"), port);
  // By hand, and nothing tells this job from others.
  if (port.empty() && !is_set("TORCHELASTIC_RUN_ID")) job.clear();
  const bool several = world.local_nranks != 0 && world.local_nranks < world.nranks;
  return Launcher{"torchrun", world, several, job};
}

Result<Launcher> from_open_mpi() {
  RONDE_ASSIGN(const World world, world_from("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE",
                                             "OMPI_COMM_WORLD_LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_SIZE"));
  std::string job = text_of("PMIX_NAMESPACE");
  if (job.empty()) job = text_of("OMPI_MCA_ess_base_jobid");
  if (job.empty()) job = ancestor_name("mpirun");
  const bool several = world.local_nranks != 0 && world.local_nranks < world.nranks;
  return Launcher{"mpirun (Open MPI)", world, several, "openmpi " + job};
}

Result<Launcher> from_mpich() {
  RONDE_ASSIGN(const World world, world_from("PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID", "MPI_LOCALNRANKS"));
  const bool several = world.local_nranks != 0 && world.local_nranks < world.nranks;
  // Hydra names no job, but one proxy of it starts all processes of a job on a host.
  return Launcher{"mpiexec (MPICH)", world, several, "mpich " + ancestor_name("hydra_pmi_prox")};
}

Result<Launcher> from_slurm() {
  RONDE_ASSIGN(World world, world_from("SLURM_PROCID", "SLURM_NTASKS", "SLURM_LOCALID", ""));
  const char* const nodes_variable = is_set("SLURM_STEP_NUM_NODES") ? "SLURM_STEP_NUM_NODES" : "SLURM_NNODES";
  RONDE_ASSIGN(const int nodes, number_or(nodes_variable, 1, 1, INT_MAX));
  if (nodes == 1) world.local_nranks = world.nranks;
  return Launcher{"srun (Slurm)", world, nodes > 1,
                  fmt::format("slurm {} {}", text_of("SLURM_JOB_ID"), text_of("SLURM_STEP_ID"))};
}

}  // namespace

Result<int> environment_number(const char* variable, int least, int most) {
  const auto text = environment_variable(variable);
  const std::string allowed = fmt::format("a whole number from {} to {}", least, most);
  if (!text) return Status(rondeInvalidUsage, fmt::format("{} is not set, but must be {}", variable, allowed));
  int value = 0;
  const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), value);
  if (error != std::errc() || end != text->data() + text->size() || value < least || value > most)
    return Status(rondeInvalidUsage,
                  fmt::format("{}='{}' must be {}", variable, std::string_view(*text).substr(0, 80), allowed));
  return value;
}

Result<std::optional<Launcher>> detect_launcher() {
  using Reading = Result<Launcher> (*)();
  Reading reading = nullptr;
  const bool torch = is_set("RANK") && is_set("WORLD_SIZE");
  // srun with its PMI-2 plugin sets PMI_RANK as well.
  const bool only_slurms_pmi = is_set("SLURM_PROCID") && !is_set("MPI_LOCALRANKID");
  if (is_set("RONDE_RANK")) {
    reading = from_ronderun;
  } else if (torch && is_set("TORCHELASTIC_RUN_ID")) {
    reading = from_torchrun;
  } else if (is_set("OMPI_COMM_WORLD_RANK")) {
    reading = from_open_mpi;
  } else if (is_set("PMI_RANK") && is_set("PMI_SIZE") && !only_slurms_pmi) {
    reading = from_mpich;
  } else if (is_set("SLURM_PROCID") && is_set("SLURM_STEP_ID")) {  // a batch script has no step: it is one process
    reading = from_slurm;
  } else if (torch) {
    reading = from_torchrun;
  }
  if (reading == nullptr) {
    // Half of a place is a mistake, and one that would make as many jobs of one rank as there are processes.
    for (const auto& [set, missing] : {std::pair("RANK", "WORLD_SIZE"), std::pair("WORLD_SIZE", "RANK")}) {
      if (!is_set(set) || is_set(missing)) continue;
      return Status(rondeInvalidUsage, fmt::format("{}='{}' is set, but {} is not: set both (and MASTER_ADDR and "
                                                   "MASTER_PORT, equal in all processes) to start ranks by hand, or "
                                                   "neither for a job of one rank",
                                                   set, text_of(set).substr(0, 80), missing));
    }
    return std::optional<Launcher>();
  }
  RONDE_ASSIGN(Launcher launcher, reading());
  return std::optional<Launcher>(std::move(launcher));
}

}  // namespace ronde
