#include "base/file_size.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

namespace ronde {
namespace {

bool is_allowed(size_t bytes) {
  rlimit limit{};
  if (::getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY || bytes <= limit.rlim_cur) return true;
  errno = EFBIG;
  return false;
}

}  // namespace

bool extend_file(int fd, size_t bytes) {
  struct stat info {};
  if (::fstat(fd, &info) != 0) return false;
  if (static_cast<size_t>(info.st_size) >= bytes) return true;
  return is_allowed(bytes) && ::ftruncate(fd, static_cast<off_t>(bytes)) == 0;
}

bool reserve_in_file(int fd, size_t offset, size_t bytes) {
  if (!is_allowed(offset + bytes)) return false;
  do {
    errno = ::posix_fallocate(fd, static_cast<off_t>(offset), static_cast<off_t>(bytes));
  } while (errno == EINTR);
  return errno == 0;
}

}  // namespace ronde
