#include "base/host.h"

#include <fmt/format.h>

#include <sstream>

#include "base/read_file.h"

namespace ronde {

std::string boot_id() { return read_file("/proc/sys/kernel/random/boot_id", 64); }

ProcessStat process_stat(const std::string& pid) {
  const std::string line = read_file(fmt::format("/proc/{}/stat", pid));
  const size_t open = line.find('(');
  const size_t close = line.rfind(')');  // the name itself may hold anything
  ProcessStat stat;
  if (open == std::string::npos || close == std::string::npos) return stat;
  stat.name = line.substr(open + 1, close - open - 1);
  std::istringstream fields(line.substr(close + 1));
  std::string state, skipped;
  fields >> state >> stat.parent;
  for (int field = 5; field <= 21; ++field) fields >> skipped;
  fields >> stat.start_time;
  return stat;
}

}  // namespace ronde
