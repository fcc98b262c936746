// How the ranks of a communicator that has started look after each other: who has died, left or failed, whom a long
// wait is for, who disagrees. One object a rank. Its connections are apart from those of the data; ranks of one process
// need none.
//
//   enter, facts (go to all ranks), connect (all ranks in step), then the rest; leave and settle at the end.
//
// Threads: enter, connect, settle and the destructor by the thread that makes or ends the rank; the rest by any. What
// comes from other ranks is handled on the event loop.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/event_loop.h"
#include "base/secret.h"
#include "base/settings.h"
#include "bootstrap/rendezvous.h"
#include "control/control_machine.h"

namespace ronde {

// What a rank wants to hear of the others. Called on any thread, also from within calls of ranks of this process, and
// under a lock of the control plane: it must not block, nor call the control plane (failed may call leave).
struct Watcher {
  // Once, with the first failure of another rank: rondePeerLost ("rank 3 ..."), or what another rank reported.
  std::function<void(Status)> failed;
  // Where is this rank, and what was its call of that number?
  std::function<Whereabouts(uint32_t sequence)> whereabouts = [](uint32_t) { return Whereabouts(); };
  // A rank whose process has ended; before failed is told of it.
  std::function<void(uint32_t rank)> lost = [](uint32_t) {};
  // A rank that has left, and how it is named. A neighbour at once; others when somebody has asked.
  std::function<void(uint32_t rank, const std::string& who)> left = [](uint32_t, const std::string&) {};
  // Whom the waits in a call are for.
  std::function<void(LateNote)> late = [](const LateNote&) {};
};

struct ControlOptions {
  uint64_t job = 0;
  Secret secret;
  uint32_t rank = 0;
  uint32_t nranks = 1;
  bool within_process = false;  // all ranks live in this process
  RendezvousOptions meeting;    // interfaces, family, silent_timeout
};

// What the ranks that are left agree on.
struct ShrinkRequest {
  std::set<uint32_t> without;
  // Where those that go on meet, in bytes that the control plane passes on as they are; or why there is no such place.
  // Called on the thread of the rank that says where.
  std::function<Result<Bytes>()> make_meeting;
  std::string_view missing_means;  // of ranks that are waited for, for messages
};

// What the others hear of a rank that does not wait for the end of a shrink.
[[nodiscard]] Status gave_up_shrink(uint32_t rank);

class ControlHub;

// The control planes of a process, by job: ranks of one job in one process share a hub. Any thread.
class ControlTable {
 public:
  // Takes the rank in; makes the hub, with a listener on the loop, for the first one of its job.
  Result<std::shared_ptr<ControlHub>> enter(EventLoop& loop, const ControlOptions& options);

 private:
  std::mutex mutex_;
  std::map<uint64_t, std::weak_ptr<ControlHub>> hubs_;
};

class Control {
 public:
  // rondeInvalidUsage: this rank of this job lives in this process already.
  static Result<std::unique_ptr<Control>> enter(ControlTable& table, EventLoop& loop, const ControlOptions& options);
  ~Control();  // without leave() before: the others see this rank as lost
  Control(const Control&) = delete;
  Control& operator=(const Control&) = delete;

  // How others find this rank.
  [[nodiscard]] Bytes facts() const;
  // Makes the connections to the neighbours; facts: of all ranks. Blocks, at most to the deadline, or 1 s more once
  // `stop` is set (null: never).
  Status connect(const std::vector<ByteView>& facts, Deadline deadline, const OnceFlag* stop);

  // From now on the watcher hears of the others, first of what was before: a failure, lost ranks. A later one takes its
  // place.
  void watch(Watcher watcher);

  // This rank has waited for long in a call. The others' collectives are compared with it: ranks that disagree, or one
  // that has left, become a failure of all; else all are told whom the wait is for. Does not block.
  void waiting(const CallNote& call, WaitReason reason);
  // The call that it waited in has ended. Does not block.
  void resumed();

  // Tells the other ranks that this one has failed, and why; at most one time has effect. Does not block.
  void report(const Status& why);

  // Agrees with the ranks that are left on who goes on, without those in `without` and those that have gone, and where;
  // all of them call this, also after a failure. Blocks, at most to the deadline, or 1 s more once `stop` is set (null:
  // never); warns each 10 s whom it waits for. What was decided counts even if this rank has given up meanwhile. An
  // error: nothing was agreed, or the others go on without this rank. Not after leave(); by one thread at a time.
  Result<ShrinkDecision> shrink(const ShrinkRequest& request, Deadline deadline, const OnceFlag* stop);
  // Takes part in the next such agreement, but only to say that nobody is to go on, and why. Does not block.
  void refuse_shrink(const std::set<uint32_t>& without, const Status& why);
  // From now on `lost`, too, is called (as a Watcher is) for each rank that is lost, first for those before. A later
  // one takes its place; null: none.
  void watch_losses(std::function<void(uint32_t rank)> lost);

  // Says goodbye; begun: the last operation that this rank has begun. That it ends is no failure from now on, unless
  // another rank waits in a later operation. Does not block, is safe to call twice; the watcher is not called after it
  // has returned.
  void leave(uint32_t begun);
  // After leave(): blocks until the goodbye has arrived, at most to the deadline. Until then this process must not end,
  // or the others take that for a loss. Not on the event loop's thread.
  void settle(Deadline deadline);

 private:
  Control(std::shared_ptr<ControlHub> hub, uint32_t rank) : hub_(std::move(hub)), rank_(rank) {}

  std::shared_ptr<ControlHub> hub_;
  uint32_t rank_;
};

}  // namespace ronde
