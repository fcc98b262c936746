#include "base/host.h"

#include "base/read_file.h"

namespace ronde {

std::string boot_id() { return read_file("/proc/sys/kernel/random/boot_id", 64); }

}  // namespace ronde
