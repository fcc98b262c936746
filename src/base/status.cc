#include "base/status.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>

#include "base/open_file_limit.h"

namespace ronde {

Status system_error(const std::string& what, int error_number) {
  char buffer[128];
  const char* reason = strerror_r(error_number, buffer, sizeof buffer);  // the GNU form: returns the text
  std::string text = fmt::format("{}: {} (errno {})", what, reason, error_number);
  if (error_number == EFBIG) text += "; the limit of file sizes holds for shared memory, too: raise it (ulimit -f)";
  if (error_number == EMFILE) text += "; " + open_file_limit_text();
  return {rondeSystemError, std::move(text)};
}

}  // namespace ronde
