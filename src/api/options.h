// From settings and configs to the options of bootstrap and runtime.
#pragma once

#include "base/settings.h"
#include "bootstrap/rendezvous.h"
#include "ronde/ronde.h"

namespace ronde::api {

RendezvousOptions rendezvous_options(const Settings& settings);

// The environment's settings, overridden by a config (may be null) that `function` was given. rondeInvalidArgument: the
// config was not initialized, or its blocking or device is not allowed; rondeInvalidUsage: a setting of the environment
// or of the config has a value that is not allowed.
Result<Settings> settings_with(const rondeConfig_t* config, const char* function);

}  // namespace ronde::api
