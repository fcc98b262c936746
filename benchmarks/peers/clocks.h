// Wall-clock time, and processor time of this process and of the machine.
#pragma once

namespace peers {

double now();  // seconds, monotonic

struct CpuTimes {
  double process = 0;  // seconds
  double machine = 0;  // seconds that all processors of the machine were busy; in steps of 10 ms
};
CpuTimes cpu_times();

}  // namespace peers
