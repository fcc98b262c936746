// Who this process is in the job that started it (ronderun, mpirun, srun, torchrun), and how it gets a first id.
#pragma once

#include "base/event_loop.h"
#include "base/status.h"
#include "bootstrap/rendezvous.h"
#include "bootstrap/unique_id.h"

namespace ronde {

struct World {
  int nranks = 1;
  int rank = 0;
  int local_rank = 0;
  int local_nranks = 0;  // 0: not told
};

// See rondeGetWorldFromEnv in ronde.h for what is looked at, in which order, and the errors. May start a root on `loop`
// (rank 0 of a job without ronderun), and a helper source that hands the id to the other processes of the host.
struct WorldAndId {
  World world;
  UniqueId id;
};
// `call`: how many calls the processes of this job have made before (0, 1, ...), equal in all of them: it keeps their
// ids apart.
Result<WorldAndId> world_from_environment(EventLoop& loop, const RendezvousOptions& options, uint64_t call);

// The same; counts the calls of this process itself.
Result<WorldAndId> world_from_environment(EventLoop& loop, const RendezvousOptions& options);

}  // namespace ronde
