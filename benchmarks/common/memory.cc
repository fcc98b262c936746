#include "common/memory.h"

#include <algorithm>
#include <fstream>
#include <limits>
#include <string>

namespace perf {

std::size_t greatest_buffer(std::size_t buffers) {
  std::ifstream file("/proc/meminfo");
  std::string name;
  std::string unit;
  for (std::size_t kib = 0; file >> name >> kib && std::getline(file, unit);) {
    // A tenth stays for the library and everybody else.
    if (name == "MemAvailable:") return kib * 1024 / 10 * 9 / std::max<std::size_t>(buffers, 1);
  }
  return std::numeric_limits<std::size_t>::max();
}

}  // namespace perf
