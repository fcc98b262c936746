#include "api/options.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "base/socket.h"

namespace ronde::api {
namespace {

// The caller's config in this library's shape: fields that its header did not have keep their defaults.
Result<rondeConfig_t> readable(const rondeConfig_t& given) {
  rondeConfig_t config = RONDE_CONFIG_INITIALIZER;
  const size_t head = offsetof(rondeConfig_t, blocking);
  if (given.magic != RONDE_CONFIG_MAGIC || given.size < head || given.size > 4096) {
    return Status(rondeInvalidArgument, "the config was not initialized with RONDE_CONFIG_INITIALIZER");
  }
  std::memcpy(&config, &given, std::min(given.size, sizeof config));
  return config;
}

}  // namespace

RendezvousOptions rendezvous_options(const Settings& settings) {
  RendezvousOptions options;
  options.socket_ifname = settings.socket_ifname;
  options.socket_family = family_by_name(settings.socket_family);
  options.secret_file = settings.secret_file;
  options.port = static_cast<uint16_t>(settings.port);
  options.init_timeout = std::chrono::seconds(settings.init_timeout_s);
  return options;
}

Result<Settings> settings_with(const rondeConfig_t* config) {
  RONDE_ASSIGN(Settings settings, Settings::from_environment());
  if (config == nullptr) return settings;
  RONDE_ASSIGN(const rondeConfig_t given, readable(*config));
  if (given.blocking != RONDE_CONFIG_UNDEF_INT && given.blocking != 0 && given.blocking != 1) {
    return Status(rondeInvalidArgument, fmt::format("config.blocking is {}: 0 or 1 is allowed", given.blocking));
  }
  if (given.device != RONDE_DEVICE_HOST) {
    return Status(rondeInvalidArgument, fmt::format("config.device is {}: this build has host memory only "
                                                    "(RONDE_DEVICE_HOST)",
                                                    given.device));
  }
  if (given.initTimeoutSeconds != RONDE_CONFIG_UNDEF_INT) {
    RONDE_TRY(settings.set("RONDE_INIT_TIMEOUT", std::to_string(given.initTimeoutSeconds)));
  }
  if (given.algorithm != nullptr) RONDE_TRY(settings.set("RONDE_ALGO", given.algorithm));
  if (given.transport != nullptr) RONDE_TRY(settings.set("RONDE_TRANSPORT", given.transport));
  return settings;
}

}  // namespace ronde::api
