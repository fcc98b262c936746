// Small files of the system, whole.
#pragma once

#include <cstddef>
#include <string>

namespace ronde {

// What the file holds, at most so many bytes of it; empty if it cannot be read.
std::string read_file(const std::string& path, size_t most_bytes = size_t{4} << 20);

}  // namespace ronde
