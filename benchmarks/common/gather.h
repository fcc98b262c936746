// What rank 0 learns from the others: who they are, and what they moved.
#pragma once

#include <ronde/ronde.h>

#include <vector>

#include "common/results.h"
#include "common/team.h"

namespace perf {

// Process and host of every rank, on every rank.
std::vector<RankInfo> gather_ranks(Team& team);

// What the counters of each rank of this team stand at.
using Traffic = std::vector<std::vector<rondeTraffic_t>>;
Traffic read_traffic(const Team& team);

// What all ranks moved between two readings, on every rank: one row a rank and transport. Only rank, transport and the
// byte counts are filled.
std::vector<CounterRow> gather_traffic(Team& team, const Traffic& before, const Traffic& after);

}  // namespace perf
