// Facts that tell ranks of one host from ranks of others, and processes of a host from each other.
#pragma once

#include <cstdint>
#include <string>

namespace ronde {

// Names the running kernel; empty if the system does not tell. Equal on two ranks is a hint that they share a host, never
// a proof that they can share memory.
[[nodiscard]] std::string boot_id();

// From /proc/PID/stat.
struct ProcessStat {
  std::string name;  // at most 15 characters; empty: there is no such process
  int parent = 0;
  uint64_t start_time = 0;  // with its number it names a process for good
};
// pid: a number, or "self".
[[nodiscard]] ProcessStat process_stat(const std::string& pid);

}  // namespace ronde
