// A text that the command line names.
#pragma once

#include <optional>
#include <string>

namespace perf {

// The whole file, or *why: it cannot be read, is a folder, or has more than 16 MiB, as a device that never ends.
std::optional<std::string> read_input_file(const std::string& path, std::string* why);

}  // namespace perf
