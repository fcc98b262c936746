// System calls that a signal may interrupt: called again. The user's handlers stay as they are.
#pragma once

#include <cerrno>

namespace ronde {

// Calls until it does not fail with EINTR. Not for close (never again on Linux) nor connect (goes on by itself).
template <typename Call>
auto retry_interrupted(Call call) {
  auto result = call();
  while (result == -1 && errno == EINTR) result = call();
  return result;
}

}  // namespace ronde
