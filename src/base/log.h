// Messages for people: to stderr, a file, or a callback. Never to stdout, never on the path of a slot.
// The function that first decides that something is an error logs it; callers that pass it on stay silent.
#pragma once

#include <fmt/format.h>

#include <string>
#include <string_view>

#include "base/status.h"

namespace ronde::log {

// True if a message of that level would go anywhere; ask before formatting.
[[nodiscard]] bool enabled(rondeLogLevel_t level);

// One line; `message` without a final newline. Any thread.
void write(rondeLogLevel_t level, std::string_view message);

void set_level(rondeLogLevel_t level);
// The level of the environment: has no effect once set_level was called.
void set_default_level(rondeLogLevel_t level);
void set_callback(rondeLogCallback_t callback, void* user);
// The path with the process number in place of "%p".
std::string file_name(const std::string& path);
// Opens (appends to) the file of that name for all further messages.
Status set_file(const std::string& path);

template <typename... Args>
void warn(fmt::format_string<Args...> format, Args&&... args) {
  if (enabled(rondeLogWarn)) write(rondeLogWarn, fmt::format(format, std::forward<Args>(args)...));
}
template <typename... Args>
void info(fmt::format_string<Args...> format, Args&&... args) {
  if (enabled(rondeLogInfo)) write(rondeLogInfo, fmt::format(format, std::forward<Args>(args)...));
}
template <typename... Args>
void trace(fmt::format_string<Args...> format, Args&&... args) {
  if (enabled(rondeLogTrace)) write(rondeLogTrace, fmt::format(format, std::forward<Args>(args)...));
}

}  // namespace ronde::log
