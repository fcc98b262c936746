#include "base/read_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>

#include "base/fd.h"
#include "base/retry.h"

namespace ronde {

std::string read_file(const std::string& path, size_t most_bytes) {
  const Fd file = Fd::make([&] { return ::open(path.c_str(), O_RDONLY | O_CLOEXEC); });
  std::string content;
  char part[4096];
  while (file.valid() && content.size() < most_bytes) {
    const size_t room = std::min(sizeof part, most_bytes - content.size());
    const ssize_t got = retry_interrupted([&] { return ::read(file.get(), part, room); });
    if (got <= 0) break;
    content.append(part, static_cast<size_t>(got));
  }
  return content;
}

}  // namespace ronde
