#include "api/group.h"

#include <fmt/format.h>

#include <exception>
#include <system_error>
#include <thread>

namespace ronde::api {

namespace {

// What the standard library throws (out of memory) must not leave a thread.
Status caught(const std::function<Status()>& init) {
  try {
    return init();
  } catch (const std::exception& error) {
    return {rondeSystemError, fmt::format("making a rank failed: {}", error.what())};
  }
}

}  // namespace

Status run_together(const std::vector<std::function<Status()>>& inits) {
  std::vector<Status> results(inits.size());
  std::vector<std::thread> threads;
  threads.reserve(inits.size());
  for (size_t i = 0; i < inits.size(); ++i) {
    try {
      threads.emplace_back([&results, &inits, i] { results[i] = caught(inits[i]); });
    } catch (const std::system_error& error) {
      // The others will miss this rank and end at their deadline.
      results[i] =
          Status(rondeSystemError, fmt::format("cannot start thread {} of {}: {}", i + 1, inits.size(), error.what()));
    }
  }
  for (std::thread& thread : threads) thread.join();
  for (const Status& result : results) RONDE_TRY(result);
  return {};
}

OpenGroup& group_of_thread() {
  thread_local OpenGroup group;
  return group;
}

}  // namespace ronde::api

using ronde::Status;
using ronde::api::OpenGroup;

rondeResult_t rondeGroupStart(void) {
  ++ronde::api::group_of_thread().depth;
  return rondeSuccess;
}

rondeResult_t rondeGroupEnd(void) {
  return ronde::api::guarded([]() -> Status {
    OpenGroup& group = ronde::api::group_of_thread();
    if (!group.open()) return {rondeInvalidUsage, "rondeGroupEnd: no group was started in this thread"};
    if (--group.depth > 0) return {};
    const OpenGroup ended = std::exchange(group, OpenGroup());
    RONDE_TRY(ended.first_error);
    RONDE_TRY(ronde::api::run_together(ended.inits));
    if (ended.calls.empty()) return {};
    return run_group(ended.calls, ronde::api::process().worker());
  });
}
