// How files of memory get their size.
#pragma once

#include <cstddef>

namespace ronde {

// Makes the file at least so long; false with errno otherwise. Beyond the limit of file sizes (ulimit -f) that is
// EFBIG, where the system call would end the process by SIGXFSZ.
bool extend_file(int fd, size_t bytes);

// Makes room for those bytes, which may lie beyond its end; false with errno otherwise (ENOSPC). Without room a store
// into a mapping would end the process by SIGBUS.
bool reserve_in_file(int fd, size_t offset, size_t bytes);

}  // namespace ronde
