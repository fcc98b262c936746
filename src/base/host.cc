#include "base/host.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "base/read_file.h"

namespace ronde {

std::string boot_id() { return read_file("/proc/sys/kernel/random/boot_id", 64); }

ProcessStat process_stat(const std::string& pid) {
  return parse_process_stat(read_file(fmt::format("/proc/{}/stat", pid))).value_or(ProcessStat{});
}

std::optional<ProcessStat> parse_process_stat(std::string_view text) {
  // "pid (name) state ppid pgrp ..."; a name may hold blanks and brackets. Start time is field 22.
  const auto open = text.find(" (");
  const auto close = text.rfind(") ");
  if (open == std::string_view::npos || close == std::string_view::npos || close < open + 2) return std::nullopt;
  ProcessStat stat;
  const auto number = [](std::string_view word, auto& value) {
    return std::from_chars(word.data(), word.data() + word.size(), value).ec == std::errc();
  };
  if (!number(text.substr(0, open), stat.pid)) return std::nullopt;
  stat.name = text.substr(open + 2, close - open - 2);
  text.remove_prefix(close + 2);
  for (int field = 3; field <= 22; ++field) {
    const auto word = text.substr(0, text.find(' '));
    if (word.empty()) return std::nullopt;
    text.remove_prefix(std::min(word.size() + 1, text.size()));
    if (field == 3) stat.state = word[0];
    if (field == 4 && !number(word, stat.parent)) return std::nullopt;
    if (field == 5 && !number(word, stat.group)) return std::nullopt;
    if (field == 22 && !number(word, stat.start_time)) return std::nullopt;
  }
  return stat;
}

}  // namespace ronde
