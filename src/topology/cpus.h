// How much processor the ranks of a host may use.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace ronde::topology {

// What one process may use. A value, told to the other ranks.
struct CpuAllowance {
  std::vector<uint64_t> mask;  // CPUs that it may run on, 64 a word
  int quota = 0;               // CPUs by its control group's quota, rounded up; 0: no quota

  [[nodiscard]] static CpuAllowance of_this_process();
};

// CPUs that processes with these allowances may use together: the union of the CPUs, at most the smallest quota (they
// may share it); at least 1. Each of two processes bound to a CPU of its own has one: together two.
[[nodiscard]] int usable_cpus(std::span<const CpuAllowance> processes);

}  // namespace ronde::topology
