// Values of settings, as users write them: refused with a text, or taken.
#include <cstdlib>

#include "base/settings.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view value(reinterpret_cast<const char*>(data), size);
  for (const ronde::SettingHelp& setting : ronde::settings_help()) {
    ronde::Settings settings;
    const ronde::Status status = settings.set(setting.name, value);
    if (!status.ok() && status.message().find(setting.name) == std::string::npos) std::abort();
  }
  return 0;
}
