// Who started this process, and what it says: reads the variables of ronderun, torchrun, Open MPI, MPICH and Slurm.
#pragma once

#include <optional>
#include <string>

#include "base/status.h"
#include "bootstrap/environment.h"

namespace ronde {

struct Launcher {
  std::string name;  // "ronderun", "torchrun", ...: for messages
  World world;
  bool several_hosts = false;
  // Equal for all processes of this job on this host, different from that of any other job that runs at the same time.
  // Empty for ronderun, which hands over the id itself, and by hand without MASTER_PORT, where nothing tells.
  std::string job;
};

// Nothing: no launcher. rondeInvalidUsage names the variable that is missing or is no number in its range.
//
// Order: ronderun; torchrun where TORCHELASTIC_RUN_ID shows that it started this very process (it is itself often
// started by one of the others); Open MPI; MPICH; Slurm; else RANK and WORLD_SIZE alone.
Result<std::optional<Launcher>> detect_launcher();

// A variable that must hold a whole number from least to most. rondeInvalidUsage otherwise, also when it is not set.
Result<int> environment_number(const char* variable, int least, int most);

}  // namespace ronde
