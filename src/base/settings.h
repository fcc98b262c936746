// All settings of the library, from one table: name, kind, default, what is allowed, help. The only place that reads
// the environment. Parsed once for each communicator and passed on as const.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace ronde {

// RONDE_SILENT_TIMEOUT; holds for connections that are made before a communicator's settings apply, too.
inline constexpr std::chrono::seconds kDefaultSilentTimeout{10};

struct Settings {
  std::string algorithm = "auto";
  std::string protocol = "auto";
  std::string transport = "auto";
  std::string accumulate = "auto";
  int64_t reproducible = 0;
  std::string socket_ifname;
  std::string socket_family = "any";
  int64_t port = 0;
  std::string secret_file;
  int64_t tcp_connections = 1;
  int64_t init_timeout_s = 300;
  int64_t late_warning_s = 10;
  int64_t late_timeout_s = 600;
  int64_t silent_timeout_s = kDefaultSilentTimeout.count();
  int64_t shm_limit_bytes = 64 << 20;
  int64_t mem_limit_bytes = int64_t{256} << 30;
  std::string spin = "auto";
  std::string debug = "warn";
  std::string log_file;
  std::string trace_dir;

  // Reads the environment. rondeInvalidUsage names the variable, its value and what is allowed.
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

// One row of the table as the environment of this process has it.
struct SettingState {
  SettingHelp help;
  std::string value;  // in effect; as it was given if it is not allowed
  bool from_environment = false;
  Status problem;  // as Settings::from_environment returns it
};
// A variable with the library's prefix that is no setting, and the setting whose name it may be a misspelling of: the
// nearest one, if it is near.
struct UnknownSetting {
  std::string name;
  std::string_view nearest;  // empty: none is near
  [[nodiscard]] std::string describe() const;
};
// All that is to be said about the settings in the environment, for tools: not only the first fault.
struct SettingsSurvey {
  Settings settings;                 // what is right; defaults where something is wrong
  std::vector<SettingState> states;  // in the order of the table
  std::vector<UnknownSetting> unknown;
};
SettingsSurvey survey_settings();

// One warning for each unknown variable; once a process. For one process of a job: all have them.
void warn_about_unknown_settings();

// A variable of the environment as it is; nothing if it is not set. For what a launcher tells (ranks, addresses).
std::optional<std::string> environment_variable(const char* name);

// True if the text is one of a comma-separated list.
[[nodiscard]] bool list_contains(std::string_view list, std::string_view item);

}  // namespace ronde
