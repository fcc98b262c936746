// Text of strangers (names of processes, files, communicators) for a terminal.
#pragma once

#include <string>
#include <string_view>

namespace ronde {

// The same with a '?' for each byte that is not part of UTF-8 and for each character that a terminal obeys: control
// characters and those that change the direction of writing.
[[nodiscard]] std::string printable(std::string_view text);

}  // namespace ronde
