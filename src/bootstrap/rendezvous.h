// How the ranks of one communicator meet: an all-gather of small messages with a deadline, and the news that one of
// them has failed meanwhile. What a communicator needs of the outside world at start-up goes through this contract;
// once it has started the control plane takes over.
#pragma once

#include <functional>
#include <memory>
#include <string_view>
#include <vector>

#include "base/deadline.h"
#include "base/event_loop.h"
#include "base/settings.h"
#include "base/shared_word.h"
#include "base/status.h"
#include "base/wire.h"
#include "bootstrap/unique_id.h"

namespace ronde {

// One rank's end. Used by one thread, except report() and leave(), which any thread may call.
class Rendezvous {
 public:
  virtual ~Rendezvous() = default;  // without leave() before: the others see this rank as lost

  // All ranks call this in the same order. Returns what every rank handed in, in rank order. Blocks until all have
  // called, at most to the deadline: rondeTimedOut with the ranks that are missing and `what` they were to bring. Logs
  // a warning that names them each 10 s. Fails on all ranks if one of them is lost or reports. `mine` has at most 64
  // KiB.
  virtual Result<std::vector<Bytes>> exchange(std::string_view what, ByteView mine, Deadline deadline) = 0;

  // From now on `failed` is called, once, with the first failure of another rank, also if that came before:
  // rondePeerLost ("rank 3 ..."), or what another rank reported. On any thread, also from within the calls of this or
  // another rank: it must not block, nor call the rendezvous, except leave(). A later one takes its place.
  virtual void watch(std::function<void(Status)> failed) = 0;

  // Tells the other ranks that this one has failed, and why; at most one time has effect. Does not block.
  virtual void report(const Status& why) = 0;

  // Says goodbye. That it ends is no failure from now on, unless others still wait for it in an exchange. Does not
  // block, is safe to call twice; what watch() was given is not called after it has returned.
  virtual void leave() = 0;

  // All ranks live in this process.
  [[nodiscard]] virtual bool within_process() const = 0;
};

// Limits and choices of start-up, from the settings.
struct RendezvousOptions {
  std::string socket_ifname;                                    // RONDE_SOCKET_IFNAME
  int socket_family = 0;                                        // RONDE_SOCKET_FAMILY: 0, AF_INET, AF_INET6
  uint16_t port = 0;                                            // RONDE_PORT; 0: any
  std::string secret_file;                                      // RONDE_SECRET_FILE
  std::chrono::seconds silent_timeout = kDefaultSilentTimeout;  // RONDE_SILENT_TIMEOUT
  Milliseconds init_timeout{300'000};
  Milliseconds missing_warning{10'000};  // how often missing ranks are named
  // Once it is set, join() and exchange() end within 1 s, and the others are told that this rank has aborted. Null:
  // never. Outlives the rendezvous.
  const OnceFlag* stop = nullptr;
  // Then: why, for the others; null, or rondeAborted: it was aborted.
  std::function<Status()> why_stopped;
};

// The sockets that a root listens on, all on one port: on the addresses that the options choose, else on the wildcard.
// port 0: any.
Result<std::vector<Listener>> listen_for_ranks(const RendezvousOptions& options, uint16_t port);

// Makes an id and the root behind it: a listener and a state machine on `loop`. The root lives until every rank has
// left (or is lost), or until the loop ends; one whose ranks never come gives up after init_timeout.
Result<UniqueId> start_root(EventLoop& loop, const RendezvousOptions& options);

// A root for a job and a secret that are given, which ends with this object unless it is kept.
class OwnedRoot {
 public:
  static Result<OwnedRoot> start(EventLoop& loop, const RendezvousOptions& options, uint64_t job, const Secret& secret);
  ~OwnedRoot();
  OwnedRoot(OwnedRoot&&) = default;
  OwnedRoot& operator=(OwnedRoot&&) = delete;

  [[nodiscard]] const UniqueId& id() const { return id_; }
  // From now on it lives as one of start_root.
  void keep() { root_.reset(); }

 private:
  OwnedRoot(EventLoop& loop, UniqueId id, std::weak_ptr<EventSource> root)
      : loop_(loop), id_(std::move(id)), root_(std::move(root)) {}

  EventLoop& loop_;
  UniqueId id_;
  std::weak_ptr<EventSource> root_;
};

// The same for an id that is known beforehand (from the environment): listens on id.port.
Status start_root_for(EventLoop& loop, const UniqueId& id, const RendezvousOptions& options);

// Joins the root that id names, as one of nranks. Returns when the root has taken this rank in (the others may still be
// missing). rondeInvalidUsage: the rank is taken, other ranks gave another nranks (all are told), the id was used.
Result<std::unique_ptr<Rendezvous>> join(EventLoop& loop, const UniqueId& id, int nranks, int rank,
                                         const RendezvousOptions& options, Deadline deadline);

// All ranks in this process: no root, no sockets. Index = rank.
std::vector<std::unique_ptr<Rendezvous>> local_rendezvous(int nranks);

}  // namespace ronde
