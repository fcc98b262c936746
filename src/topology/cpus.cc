#include "topology/cpus.h"

#include <sched.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <sstream>
#include <string>

#include "base/read_file.h"

namespace ronde::topology {
namespace {

// CPUs by quota and period in microseconds; 0 when there is no quota.
int cpus_by_quota(double quota, double period) {
  if (quota <= 0 || period <= 0) return 0;
  return std::max(1, static_cast<int>(std::ceil(quota / period)));
}

int smaller_known(int a, int b) {
  if (a == 0 || b == 0) return std::max(a, b);
  return std::min(a, b);
}

// cgroup v2: cpu.max ("max 100000" or "50000 100000") in the own group and all groups above it.
int quota_v2(std::string path) {
  int least = 0;
  for (;;) {
    std::istringstream file(read_file("/sys/fs/cgroup" + path + "/cpu.max"));
    std::string quota;
    double period = 0;
    if (file >> quota >> period && quota != "max")
      least = smaller_known(least, cpus_by_quota(std::atof(quota.c_str()), period));
    if (path.empty() || path == "/") return least;
    path.erase(path.rfind('/'));
  }
}

int quota_v1(const std::string& path) {
  const std::string folder = "/sys/fs/cgroup/cpu" + path;
  double quota = 0;
  double period = 0;
  std::istringstream(read_file(folder + "/cpu.cfs_quota_us")) >> quota;
  std::istringstream(read_file(folder + "/cpu.cfs_period_us")) >> period;
  return cpus_by_quota(quota, period);
}

int cgroup_cpus() {
  int least = 0;
  std::istringstream groups(read_file("/proc/self/cgroup"));
  for (std::string line; std::getline(groups, line);) {
    const size_t first = line.find(':');
    const size_t second = first == std::string::npos ? first : line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    const std::string path = line.substr(second + 1);
    if (controllers.empty()) least = smaller_known(least, quota_v2(path));
    if (("," + controllers + ",").find(",cpu,") != std::string::npos) least = smaller_known(least, quota_v1(path));
  }
  return least;
}

std::vector<uint64_t> affinity_mask() {
  // The kernel refuses sets smaller than its own: ask with growing ones.
  for (int cpus = 1024; cpus <= 1 << 16; cpus *= 2) {
    cpu_set_t* set = CPU_ALLOC(cpus);
    const size_t bytes = CPU_ALLOC_SIZE(cpus);
    std::vector<uint64_t> mask;
    if (set != nullptr && sched_getaffinity(0, bytes, set) == 0) {
      for (int cpu = 0; cpu < cpus; ++cpu) {
        if (CPU_ISSET_S(cpu, bytes, set) == 0) continue;
        mask.resize(static_cast<size_t>(cpu / 64) + 1);
        mask.back() |= uint64_t{1} << (cpu % 64);
      }
    }
    CPU_FREE(set);
    if (!mask.empty()) return mask;
  }
  return {1};
}

}  // namespace

CpuAllowance CpuAllowance::of_this_process() { return {affinity_mask(), cgroup_cpus()}; }

int usable_cpus(std::span<const CpuAllowance> processes) {
  std::vector<uint64_t> all;
  int quota = 0;
  for (const CpuAllowance& process : processes) {
    if (process.mask.size() > all.size()) all.resize(process.mask.size());
    for (size_t i = 0; i < process.mask.size(); ++i) all[i] |= process.mask[i];
    quota = smaller_known(quota, process.quota);
  }
  int cpus = 0;
  for (const uint64_t word : all) cpus += std::popcount(word);
  return std::max(1, smaller_known(cpus, quota));
}

}  // namespace ronde::topology
