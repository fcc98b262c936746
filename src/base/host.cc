#include "base/host.h"

#include <fcntl.h>
#include <unistd.h>

#include "base/fd.h"

namespace ronde {

std::string boot_id() {
  const Fd file(::open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC));
  char text[64];
  const ssize_t size = file.valid() ? ::read(file.get(), text, sizeof text) : 0;
  return {text, size > 0 ? static_cast<size_t>(size) : 0};
}

}  // namespace ronde
