#include "api/group.h"

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <future>
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

// False for what one rank only learns from another one's failure.
bool is_own_cause(const Status& status) {
  return !status.ok() && status.code() != rondeRemoteError && status.code() != rondeTimedOut &&
         status.code() != rondePeerLost;
}

}  // namespace

Status run_together(const std::vector<std::function<Status()>>& inits) {
  if (inits.size() == 1) return caught(inits.front());
  std::vector<Status> results(inits.size());
  std::vector<std::thread> threads;
  threads.reserve(inits.size());
  // No rank begins before all have a thread: the others would wait for one that never comes.
  std::promise<bool> gate;
  const std::shared_future<bool> begin(gate.get_future());
  Status no_thread;
  for (size_t i = 0; i < inits.size() && no_thread.ok(); ++i) {
    try {
      threads.emplace_back([&results, &inits, begin, i] {
        if (begin.get()) results[i] = caught(inits[i]);
      });
    } catch (const std::exception& error) {
      no_thread =
          Status(rondeSystemError, fmt::format("cannot start thread {} of {}, one for each rank: {} (ulimit -u, "
                                               "ulimit -v)",
                                               i + 1, inits.size(), error.what()));
    }
  }
  gate.set_value(no_thread.ok());
  for (std::thread& thread : threads) thread.join();
  RONDE_TRY(no_thread);
  for (const Status& result : results) {
    if (is_own_cause(result)) return result;
  }
  for (const Status& result : results) RONDE_TRY(result);
  return {};
}

Status make_together(const std::vector<GroupInit>& inits) {
  std::vector<std::unique_ptr<rondeComm>> made(inits.size());
  std::vector<std::function<Status()>> steps;
  for (size_t i = 0; i < inits.size(); ++i) {
    steps.emplace_back([&made, &inits, i]() -> Status {
      RONDE_ASSIGN(made[i], inits[i].make());
      return {};
    });
  }
  RONDE_TRY(run_together(steps));
  for (size_t i = 0; i < inits.size(); ++i) *inits[i].target = made[i].release();
  return {};
}

namespace {

Status named_by_group(const char* function, const char* what) {
  return {rondeInvalidUsage, fmt::format("{}: the open group of this thread holds calls on this {}; call rondeGroupEnd "
                                         "first",
                                         function, what)};
}

}  // namespace

Status check_not_in_group(const Communicator& communicator, const char* function) {
  const OpenGroup& group = group_of_thread();
  const bool called = std::any_of(group.calls.begin(), group.calls.end(),
                                  [&](const GroupCall& call) { return call.communicator == &communicator; });
  const bool is_parent = std::any_of(group.inits.begin(), group.inits.end(),
                                     [&](const GroupInit& init) { return init.parent == &communicator; });
  return called || is_parent ? named_by_group(function, "communicator") : Status();
}

Status check_not_in_group(const Stream& stream, const char* function) {
  const std::vector<GroupCall>& calls = group_of_thread().calls;
  if (std::any_of(calls.begin(), calls.end(), [&](const auto& call) { return call.stream == &stream; }))
    return named_by_group(function, "stream");
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
  return ronde::api::guarded([]() -> Status {
    RONDE_TRY(ronde::api::check_not_forked("rondeGroupStart"));
    ++ronde::api::group_of_thread().depth;
    return {};
  });
}

rondeResult_t rondeGroupEnd(void) {
  return ronde::api::guarded([]() -> Status {
    RONDE_TRY(ronde::api::check_not_forked("rondeGroupEnd"));
    OpenGroup& group = ronde::api::group_of_thread();
    if (!group.open()) return {rondeInvalidUsage, "rondeGroupEnd: no group was started in this thread"};
    if (--group.depth > 0) return {};
    const OpenGroup ended = std::exchange(group, OpenGroup());
    RONDE_TRY(ended.first_error);
    RONDE_TRY(ronde::api::make_together(ended.inits));
    if (ended.calls.empty()) return {};
    return run_group(ended.calls, ronde::api::process().worker());
  });
}
