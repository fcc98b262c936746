#include "base/open_file_limit.h"

#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>

namespace ronde {
namespace {

constexpr rlim_t kUsual = 1024;
constexpr rlim_t kEnough = 65'536;  // some services have a thousand million, and children that close each

}  // namespace

void raise_open_file_limit() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  const rlim_t wanted = std::min(limit.rlim_max, kEnough);
  if (limit.rlim_cur >= wanted) return;
  limit.rlim_cur = wanted;
  setrlimit(RLIMIT_NOFILE, &limit);  // without success all is as it was
}

std::string open_file_limit_text() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return "the limit of open files is reached: raise it (ulimit -n)";
  return fmt::format("the limit of open files is {} here: raise it (ulimit -n {}, or LimitNOFILE= of a service)",
                     limit.rlim_cur, std::max(kUsual, 2 * limit.rlim_cur));
}

}  // namespace ronde
