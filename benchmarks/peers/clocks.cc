#include "peers/clocks.h"

#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <ctime>

namespace peers {

double now() {
  using namespace std::chrono;
  return duration<double>(steady_clock::now().time_since_epoch()).count();
}

CpuTimes cpu_times() {
  CpuTimes times;
  timespec own{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &own);
  times.process = static_cast<double>(own.tv_sec) + 1e-9 * static_cast<double>(own.tv_nsec);
  if (FILE* file = std::fopen("/proc/stat", "r")) {
    double user = 0;
    double nice = 0;
    double system = 0;
    if (std::fscanf(file, "cpu %lf %lf %lf", &user, &nice, &system) == 3) {
      times.machine = (user + nice + system) / static_cast<double>(sysconf(_SC_CLK_TCK));
    }
    std::fclose(file);
  }
  return times;
}

}  // namespace peers
