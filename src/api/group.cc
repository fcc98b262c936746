#include "api/group.h"

#include <thread>

namespace ronde::api {

Status run_together(const std::vector<std::function<Status()>>& inits) {
  std::vector<Status> results(inits.size());
  std::vector<std::thread> threads;
  for (size_t i = 0; i < inits.size(); ++i) {
    threads.emplace_back([&results, &inits, i] { results[i] = inits[i](); });
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
