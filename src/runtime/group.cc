#include "runtime/group.h"

#include <algorithm>

namespace ronde {
namespace {

// The calls of one communicator that this thread drives, in order, and the one in progress.
struct Lane {
  Communicator* communicator = nullptr;
  std::vector<const GroupCall*> calls;
  size_t next = 0;
  Communicator::Started current;

  // Starts calls until one is in progress; false when all have ended.
  bool go_on(Status& first_error) {
    while (next < calls.size()) {
      current = communicator->start(calls[next++]->args);
      if (current.task != nullptr) return true;
      if (first_error.ok()) first_error = current.status;
    }
    return false;
  }
};

Status drive_lanes(std::vector<Lane>& lanes) {
  Status first_error;
  std::vector<Lane*> open;
  for (Lane& lane : lanes) {
    if (lane.go_on(first_error)) open.push_back(&lane);
  }
  while (!open.empty()) {
    std::vector<Waiter> waiters;
    for (const Lane* lane : open) waiters.push_back(lane->current.waiter);
    run_until_one_ends(waiters, nullptr);
    std::vector<Lane*> still_open;
    for (size_t i = 0; i < open.size(); ++i) {
      Lane& lane = *open[i];
      if (waiters[i].done) {
        if (first_error.ok()) first_error = lane.current.task->status();
        if (!lane.go_on(first_error)) continue;
      }
      still_open.push_back(&lane);
    }
    open = std::move(still_open);
  }
  return first_error;
}

std::vector<Lane> lanes_of(const std::vector<GroupCall>& calls) {
  std::vector<Lane> lanes;
  for (const GroupCall& call : calls) {
    if (call.stream != nullptr) continue;
    auto lane = std::find_if(lanes.begin(), lanes.end(),
                             [&](const Lane& one) { return one.communicator == call.communicator; });
    if (lane == lanes.end()) lane = lanes.insert(lanes.end(), Lane{call.communicator, {}, 0, {}});
    lane->calls.push_back(&call);
  }
  return lanes;
}

// rondeInvalidUsage: driven calls would wait for queued ones in a thread that must not wait.
Status check_may_drive(const std::vector<GroupCall>& calls, const Worker& worker) {
  const Status may_wait = worker.check_may_wait();
  if (may_wait.ok()) return {};
  for (const GroupCall& driven : calls) {
    if (driven.stream != nullptr) continue;
    const bool queued = std::any_of(calls.begin(), calls.end(), [&](const GroupCall& call) {
      return call.stream != nullptr && call.communicator == driven.communicator;
    });
    if (queued || driven.communicator->has_queued()) return may_wait;
  }
  return {};
}

}  // namespace

Status run_group(const std::vector<GroupCall>& calls, Worker& worker) {
  RONDE_TRY(check_may_drive(calls, worker));
  // Call order holds within a communicator: queued calls that come before a driven one go first and are waited for,
  // those that come after it are queued when it has ended.
  std::vector<const Communicator*> driven;
  std::vector<const GroupCall*> later;
  for (const GroupCall& call : calls) {
    const bool after_driven = std::find(driven.begin(), driven.end(), call.communicator) != driven.end();
    if (call.stream == nullptr) {
      if (!after_driven) driven.push_back(call.communicator);
    } else if (after_driven) {
      later.push_back(&call);
    } else {
      RONDE_TRY(worker.enqueue(*call.stream, *call.communicator, call.args));
    }
  }
  std::vector<Lane> lanes = lanes_of(calls);
  for (const Lane& lane : lanes) RONDE_TRY(worker.wait_for(*lane.communicator));
  Status first_error = drive_lanes(lanes);
  for (const GroupCall* call : later) {
    const Status queued = worker.enqueue(*call->stream, *call->communicator, call->args);
    if (first_error.ok()) first_error = queued;
  }
  return first_error;
}

}  // namespace ronde
