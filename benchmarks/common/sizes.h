// Sizes as people type them: "8", "64K", "1.5M", "2G". Suffixes are binary.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace perf {

// Bytes, or nothing and the reason in *why. A fraction needs a suffix; what is left of a byte is cut.
std::optional<std::size_t> parse_size(std::string_view text, std::string* why);

}  // namespace perf
