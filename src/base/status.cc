#include "base/status.h"

#include <fmt/format.h>

#include <cstring>

namespace ronde {

Status system_error(const std::string& what, int error_number) {
  char buffer[128];
  const char* reason = strerror_r(error_number, buffer, sizeof buffer);  // the GNU form: returns the text
  return {rondeSystemError, fmt::format("{}: {} (errno {})", what, reason, error_number)};
}

}  // namespace ronde
