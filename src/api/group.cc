#include "api/group.h"

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <future>
#include <map>
#include <system_error>
#include <thread>
#include <utility>

namespace ronde::api {

namespace {

// One of several ranks that are made at a time.
struct Making {
  const GroupInit* init = nullptr;
  std::shared_ptr<FailureState> stop = std::make_shared<FailureState>();
  std::unique_ptr<rondeComm> made;
  Status status;

  // What the standard library throws (out of memory) must not leave a thread.
  void run() {
    try {
      auto result = init->make(stop);
      status = result.status();
      if (status.ok()) made = std::move(*result);
    } catch (const std::exception& error) {
      status = {rondeSystemError, fmt::format("making a rank failed: {}", error.what())};
    }
  }
};

// False for what one rank only learns from another one's failure.
bool is_own_cause(const Status& status) {
  return !status.ok() && status.code() != rondeRemoteError && status.code() != rondeTimedOut &&
         status.code() != rondePeerLost && status.code() != rondeAborted;
}

// Those that come of another communicator agree through that whether they start, and it must live on.
void stop_all(const std::vector<Making>& makings) {
  for (const Making& making : makings) {
    if (making.init->parent != nullptr) continue;
    making.stop->set({rondeAborted, "another rank of this group could not start"});
  }
}

Status run_in_threads(std::vector<Making>& makings) {
  std::vector<std::thread> threads;
  threads.reserve(makings.size());
  // No rank begins before all have a thread: the others would wait for one that never comes.
  std::promise<bool> gate;
  const std::shared_future<bool> begin(gate.get_future());
  Status no_thread;
  for (size_t i = 0; i < makings.size() && no_thread.ok(); ++i) {
    try {
      threads.emplace_back([&makings, begin, i] {
        if (!begin.get()) return;
        makings[i].run();
        if (is_own_cause(makings[i].status)) stop_all(makings);
      });
    } catch (const std::exception& error) {
      no_thread =
          Status(rondeSystemError, fmt::format("cannot start thread {} of {}, one for each rank: {} (ulimit -u, "
                                               "ulimit -v)",
                                               i + 1, makings.size(), error.what()));
    }
  }
  gate.set_value(no_thread.ok());
  for (std::thread& thread : threads) thread.join();
  return no_thread;
}

}  // namespace

Status make_together(const std::vector<GroupInit>& inits) {
  std::vector<Making> makings(inits.size());
  for (size_t i = 0; i < inits.size(); ++i) makings[i].init = &inits[i];
  if (makings.size() == 1) {
    makings.front().run();
  } else {
    RONDE_TRY(run_in_threads(makings));
  }
  for (const Making& making : makings) {
    if (is_own_cause(making.status)) return making.status;
  }
  for (const Making& making : makings) RONDE_TRY(making.status);
  for (Making& making : makings) *making.init->target = making.made.release();
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

namespace {

// Two ranks of one communicator on one stream would wait for each other, as it ends one operation before the next.
Status check_streams(const std::vector<GroupCall>& calls) {
  std::map<std::pair<const Stream*, uint64_t>, const Communicator*> rank_on_stream;
  for (const GroupCall& call : calls) {
    if (call.stream == nullptr) continue;
    const auto [known, is_new] = rank_on_stream.insert({{call.stream, call.communicator->job()}, call.communicator});
    if (known->second == call.communicator) continue;
    return {
        rondeInvalidUsage,
        fmt::format("rondeGroupEnd: ranks {} and {} of one communicator are on the same stream, where one operation "
                    "ends before the next begins: each would wait for the other; give each a stream of its own",
                    known->second->rank(), call.communicator->rank())};
  }
  return {};
}

Status end_group() {
  RONDE_TRY(check_not_forked("rondeGroupEnd"));
  OpenGroup& group = group_of_thread();
  if (!group.open()) return {rondeInvalidUsage, "rondeGroupEnd: no group was started in this thread"};
  if (--group.depth > 0) return {};
  OpenGroup ended = std::exchange(group, OpenGroup());
  RONDE_TRY(ended.first_error);
  RONDE_ASSIGN(std::vector<GroupCall> calls, with_messages_together(std::move(ended.calls)));
  RONDE_TRY(check_streams(calls));
  calls = with_small_ones_fused(std::move(calls));
  RONDE_TRY(make_together(ended.inits));
  if (calls.empty()) return {};
  return run_group(calls, process().worker());
}

}  // namespace

}  // namespace ronde::api

using ronde::Status;

rondeResult_t rondeGroupStart(void) {
  return ronde::api::guarded([]() -> Status {
    RONDE_TRY(ronde::api::check_not_forked("rondeGroupStart"));
    ++ronde::api::group_of_thread().depth;
    return {};
  });
}

rondeResult_t rondeGroupEnd(void) {
  return ronde::api::guarded([] { return ronde::api::said_by("rondeGroupEnd", ronde::api::end_group()); });
}
