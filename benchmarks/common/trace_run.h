// Replays the gradients of one training step after the other: --sizes-from.
#pragma once

#include <string>
#include <vector>

#include "common/collective.h"
#include "common/options.h"
#include "common/results.h"
#include "common/team.h"
#include "common/trace.h"

namespace perf {

struct TraceResult {
  std::vector<double> step_us;     // each step; a step takes as long as its slowest rank
  double algorithm_bandwidth = 0;  // of the median step
  double bus_bandwidth = 0;
  std::uint64_t wrong = 0;
  std::uint64_t out_of_bounds = 0;
};

// Bytes that each of the two buffers of a rank needs.
std::size_t trace_buffer_bytes(const Options& options, const std::vector<Tensor>& tensors);

// All ranks call it with the same tensors. The first step is checked unless -c 0; -w steps follow, then -n timed ones.
// Throws LibraryError, std::bad_alloc.
TraceResult run_trace(const Collective& collective, const Options& options, const std::vector<Tensor>& tensors,
                      Team& team);

// The table for rank 0: tensors, then the times of a step.
std::string trace_report(const Options& options, const std::vector<Tensor>& tensors, const TraceResult& result);

}  // namespace perf
