// What this process holds of the system: open files and threads, to be compared before and after.
#pragma once

#include <ostream>

#include "base/deadline.h"

namespace ronde::testing {

struct OpenResources {
  int files = 0;
  int threads = 0;
  bool operator==(const OpenResources&) const = default;

  static OpenResources now();
  // The same once it is `expected`, or after a second: a thread that was waited for may be listed a moment longer.
  static OpenResources soon(const OpenResources& expected);
};

inline std::ostream& operator<<(std::ostream& out, const OpenResources& resources) {
  return out << resources.files << " open files, " << resources.threads << " threads";
}

}  // namespace ronde::testing
