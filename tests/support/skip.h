// Ends a test that cannot run here. Every TEST_CASE is a process of its own under ctest.
#pragma once

#include <unistd.h>

#include <cstdio>
#include <string>

namespace ronde::testing {

// ctest shows it as skipped, with the reason in its output.
[[noreturn]] inline void skip(const std::string& why) {
  std::printf("skipped: %s\n", why.c_str());
  std::fflush(stdout);
  _exit(77);
}

}  // namespace ronde::testing
