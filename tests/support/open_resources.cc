#include "support/open_resources.h"

#include <filesystem>
#include <iterator>
#include <thread>

namespace ronde::testing {
namespace {

int entries_of(const char* folder) {
  return static_cast<int>(std::distance(std::filesystem::directory_iterator(folder), {}));
}

}  // namespace

OpenResources OpenResources::now() {
  // The thread sanitizer starts one of its own with the first thread of a program.
  [[maybe_unused]] static const bool has_started = (std::thread([] {}).join(), true);
  return {entries_of("/proc/self/fd"), entries_of("/proc/self/task")};
}

OpenResources OpenResources::soon(const OpenResources& expected) {
  const Deadline deadline = Deadline::after(Milliseconds(1000));
  OpenResources found = now();
  while (!(found == expected) && !deadline.passed()) {
    std::this_thread::sleep_for(Milliseconds(2));
    found = now();
  }
  return found;
}

}  // namespace ronde::testing
