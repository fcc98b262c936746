// How the ranks of one communicator meet: an all-gather of small messages with a deadline, and, once they have met, the
// news that one of them is gone. What a communicator needs of the outside world at start-up goes through this contract.
#pragma once

#include <functional>
#include <memory>
#include <string_view>
#include <vector>

#include "base/deadline.h"
#include "base/event_loop.h"
#include "base/shared_word.h"
#include "base/status.h"
#include "base/wire.h"
#include "bootstrap/judge.h"
#include "bootstrap/unique_id.h"

namespace ronde {

// What a rank wants to hear of the others. Called on any thread, also from within the calls of this or another rank, and
// under locks of the rendezvous: it must not block, nor call the rendezvous (failed may call leave).
struct Watcher {
  // Once, with the first failure of another rank: rondePeerLost ("rank 3 ..."), or what another rank reported.
  std::function<void(Status)> failed;
  // Where is this rank, and what was its call of that number?
  std::function<Whereabouts(uint32_t sequence)> whereabouts = [](uint32_t) { return Whereabouts(); };
  // A rank whose process has ended; before failed is told of it.
  std::function<void(uint32_t rank)> lost = [](uint32_t) {};
  // The answer to waiting(..., true).
  std::function<void(LateNote)> late = [](const LateNote&) {};
};

// One rank's end. Used by one thread, except report(), waiting(), resumed() and leave(), which any thread may call.
class Rendezvous {
 public:
  virtual ~Rendezvous() = default;  // without leave() before: the others see this rank as lost

  // All ranks call this in the same order. Returns what every rank handed in, in rank order. Blocks until all have
  // called, at most to the deadline: rondeTimedOut with the ranks that are missing and `what` they were to bring. Logs a
  // warning that names them each 10 s. Fails on all ranks if one of them is lost or reports. `mine` has at most 64 KiB.
  virtual Result<std::vector<Bytes>> exchange(std::string_view what, ByteView mine, Deadline deadline) = 0;

  // From now on the watcher hears of the others, first of what was before: a failure, lost ranks. A later watcher takes its
  // place.
  virtual void watch(Watcher watcher) = 0;

  // This rank has waited for long in a call. The others' waits are compared with it: ranks that disagree, or one that has
  // left, become a failure of all. ask_others: find out where all are; watcher.late is told. Does not block.
  virtual void waiting(const CallNote& call, bool ask_others) = 0;
  // The call that it waited in has ended. Does not block.
  virtual void resumed() = 0;

  // Tells the other ranks that this one has failed, and why; at most one time has effect. Does not block.
  virtual void report(const Status& why) = 0;

  // Says goodbye; begun: the last operation that this rank has begun. That it ends is no failure from now on, unless another
  // rank waits in a later operation. Does not block, is safe to call twice; the watcher is not called after it has returned.
  virtual void leave(uint32_t begun) = 0;

  // After leave(): blocks until the goodbye has arrived, at most to the deadline. Until then this process must not end, or
  // the others take that for a loss. Not on the event loop's thread.
  virtual void settle(Deadline deadline) = 0;
};

// Limits and choices of start-up, from the settings.
struct RendezvousOptions {
  std::string socket_ifname;  // RONDE_SOCKET_IFNAME
  int socket_family = 0;      // RONDE_SOCKET_FAMILY: 0, AF_INET, AF_INET6
  uint16_t port = 0;          // RONDE_PORT; 0: any
  std::string secret_file;    // RONDE_SECRET_FILE
  Milliseconds init_timeout{300'000};
  Milliseconds missing_warning{10'000};  // how often missing ranks are named
  // Once it is set, join() and exchange() end within 1 s, and the others are told that this rank has aborted. Null: never.
  // Outlives the rendezvous.
  const OnceFlag* stop = nullptr;
};

// The sockets that a root listens on, all on one port: on the addresses that the options choose, else on the wildcard.
// port 0: any.
Result<std::vector<Listener>> listen_for_ranks(const RendezvousOptions& options, uint16_t port);

// Makes an id and the root behind it: a listener and a state machine on `loop`. The root lives until every rank has left
// (or is lost), or until the loop ends; one whose ranks never come gives up after init_timeout.
Result<UniqueId> start_root(EventLoop& loop, const RendezvousOptions& options);
// The same for an id that is known beforehand (from the environment): listens on id.port.
Status start_root_for(EventLoop& loop, const UniqueId& id, const RendezvousOptions& options);

// Joins the root that id names, as one of nranks. Returns when the root has taken this rank in (the others may still be
// missing). rondeInvalidUsage: the rank is taken, other ranks gave another nranks (all are told), the id was used.
Result<std::unique_ptr<Rendezvous>> join(EventLoop& loop, const UniqueId& id, int nranks, int rank,
                                         const RendezvousOptions& options, Deadline deadline);

// All ranks in this process: no root, no sockets. Index = rank.
std::vector<std::unique_ptr<Rendezvous>> local_rendezvous(int nranks);

}  // namespace ronde
