// Facts that tell ranks of one host from ranks of others, and processes of a host from each other.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace ronde {

// Names the running kernel; empty if the system does not tell. Equal on two ranks is a hint that they share a host,
// never a proof that they can share memory.
[[nodiscard]] std::string boot_id();

// From /proc/PID/stat, as far as it is needed.
struct ProcessStat {
  pid_t pid = 0;  // 0: there is no such process
  pid_t parent = 0;
  pid_t group = 0;
  char state = '?';
  uint64_t start_time = 0;  // with its number it names a process for good
  std::string name;         // at most 15 characters
  bool operator==(const ProcessStat&) const = default;
};
// pid: a number, or "self".
[[nodiscard]] ProcessStat process_stat(const std::string& pid);
// The text of such a file; nothing if it is none. Pure.
[[nodiscard]] std::optional<ProcessStat> parse_process_stat(std::string_view text);

}  // namespace ronde
