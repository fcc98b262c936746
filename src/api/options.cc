#include "api/options.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "base/socket.h"

namespace ronde::api {
namespace {

// The caller's config in this library's shape: fields that its header did not have keep their defaults.
Result<rondeConfig_t> readable(const rondeConfig_t& given, const char* function) {
  rondeConfig_t config = RONDE_CONFIG_INITIALIZER;
  const size_t head = offsetof(rondeConfig_t, blocking);
  if (given.magic != RONDE_CONFIG_MAGIC || given.size < head || given.size > 4096) {
    return Status(rondeInvalidArgument,
                  fmt::format("{}: the config was not initialized with RONDE_CONFIG_INITIALIZER", function));
  }
  std::memcpy(&config, &given, std::min(given.size, sizeof config));
  return config;
}

Status named(const char* function, const char* field, const Status& status) {
  if (status.ok()) return status;
  return {status.code(), fmt::format("{}: config.{}: {}", function, field, status.message())};
}

struct Number {
  const char* field;
  long long value;
  const char* setting;
};
struct Text {
  const char* field;
  const char* value;
  const char* setting;
};

// Fields that stand in the place of a setting of the environment.
Status set_fields(const rondeConfig_t& given, const char* function, Settings& settings) {
  const Number numbers[] = {{"initTimeoutSeconds", given.initTimeoutSeconds, "RONDE_INIT_TIMEOUT"},
                            {"lateWarningSeconds", given.lateWarningSeconds, "RONDE_LATE_WARNING"},
                            {"lateTimeoutSeconds", given.lateTimeoutSeconds, "RONDE_LATE_TIMEOUT"},
                            {"silentTimeoutSeconds", given.silentTimeoutSeconds, "RONDE_SILENT_TIMEOUT"},
                            {"tcpConnections", given.tcpConnections, "RONDE_TCP_CONNECTIONS"},
                            {"shmLimitBytes", given.shmLimitBytes, "RONDE_SHM_LIMIT"}};
  for (const Number& one : numbers) {
    if (one.value == RONDE_CONFIG_UNDEF_INT) continue;
    RONDE_TRY(named(function, one.field, settings.set(one.setting, std::to_string(one.value))));
  }
  const Text texts[] = {{"algorithm", given.algorithm, "RONDE_ALGO"},
                        {"transport", given.transport, "RONDE_TRANSPORT"},
                        {"socketInterfaces", given.socketInterfaces, "RONDE_SOCKET_IFNAME"},
                        {"socketFamily", given.socketFamily, "RONDE_SOCKET_FAMILY"},
                        {"accumulate", given.accumulate, "RONDE_ACCUMULATE"},
                        {"spin", given.spin, "RONDE_SPIN"}};
  for (const Text& one : texts) {
    if (one.value == nullptr) continue;
    RONDE_TRY(named(function, one.field, settings.set(one.setting, one.value)));
  }
  return {};
}

}  // namespace

RendezvousOptions rendezvous_options(const Settings& settings) {
  RendezvousOptions options;
  options.socket_ifname = settings.socket_ifname;
  options.socket_family = family_by_name(settings.socket_family);
  options.secret_file = settings.secret_file;
  options.port = static_cast<uint16_t>(settings.port);
  options.silent_timeout = std::chrono::seconds(settings.silent_timeout_s);
  options.init_timeout = std::chrono::seconds(settings.init_timeout_s);
  return options;
}

Result<Settings> settings_with(const rondeConfig_t* config, const char* function) {
  RONDE_ASSIGN(Settings settings, Settings::from_environment());
  if (config == nullptr) return settings;
  RONDE_ASSIGN(const rondeConfig_t given, readable(*config, function));
  if (given.blocking != RONDE_CONFIG_UNDEF_INT && given.blocking != 0 && given.blocking != 1) {
    return Status(rondeInvalidArgument,
                  fmt::format("{}: config.blocking is {}: 0 or 1 is allowed", function, given.blocking));
  }
  if (given.device != RONDE_DEVICE_HOST) {
    return Status(rondeInvalidArgument, fmt::format("{}: config.device is {}: this build has host memory only "
                                                    "(RONDE_DEVICE_HOST)",
                                                    function, given.device));
  }
  RONDE_TRY(set_fields(given, function, settings));
  return settings;
}

}  // namespace ronde::api
