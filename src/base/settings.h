// All settings of the library, from one table: name, kind, default, what is allowed, help. The only place that reads the
// environment. Parsed once for each communicator and passed on as const.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/status.h"

namespace ronde {

struct Settings {
  std::string algorithm = "auto";
  std::string protocol = "auto";
  std::string transport = "auto";
  std::string accumulate = "auto";
  std::string socket_ifname;
  std::string socket_family = "any";
  int64_t port = 0;
  std::string secret_file;
  int64_t tcp_connections = 1;
  int64_t init_timeout_s = 300;
  int64_t late_warning_s = 10;
  int64_t late_timeout_s = 600;
  int64_t shm_limit_bytes = 64 << 20;
  std::string spin = "auto";
  std::string debug = "warn";
  std::string log_file;

  // Reads the environment. rondeInvalidUsage names the variable, its value and what is allowed. Warns once a process
  // about variables with the library's prefix that are not known, with the nearest name that is.
  static Result<Settings> from_environment();
  // The same from given text: for configs and tests.
  Status set(std::string_view name, std::string_view value);

  // One line for each setting whose value must be equal on all ranks: "RONDE_ALGO=ring".
  [[nodiscard]] std::string agreed_text() const;
};

// One row of the table, for documentation and tools.
struct SettingHelp {
  std::string_view name;
  std::string_view default_value;
  std::string_view allowed;
  std::string_view help;
};
std::span<const SettingHelp> settings_help();

// A variable of the environment as it is; nothing if it is not set. For what a launcher tells (ranks, addresses).
std::optional<std::string> environment_variable(const char* name);

// True if the text is one of a comma-separated list.
[[nodiscard]] bool list_contains(std::string_view list, std::string_view item);

}  // namespace ronde
