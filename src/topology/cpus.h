// How much processor this process may use.
#pragma once

namespace ronde::topology {

// The smaller of the CPUs that it may run on (affinity) and its control group's quota, rounded up; at least 1.
[[nodiscard]] int usable_cpus();

}  // namespace ronde::topology
