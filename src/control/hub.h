// The control plane of all ranks of one job in one process: their state machines, joined by direct calls within the
// process and by proved connections beyond it. An event source of the process's loop.
#pragma once

#include <condition_variable>
#include <deque>
#include <map>
#include <mutex>
#include <optional>
#include <set>

#include "base/authenticated_stream.h"
#include "bootstrap/connection.h"
#include "bootstrap/failure_watch.h"
#include "bootstrap/messages.h"
#include "control/control.h"

namespace ronde {

class ControlHub final : public EventSource {
 public:
  // Listens, unless the options say that all ranks live in this process.
  static Result<std::shared_ptr<ControlHub>> make(EventLoop& loop, const ControlOptions& options);
  ControlHub(EventLoop& loop, const ControlOptions& options, Fd epoll);
  ~ControlHub() override;
  ControlHub(const ControlHub&) = delete;
  ControlHub& operator=(const ControlHub&) = delete;

  // Of the loop.
  [[nodiscard]] int descriptor() const override { return epoll_.get(); }
  bool advance(Time now) override;
  [[nodiscard]] Deadline next_deadline() const override;

  // Of the ranks; see control.h. enter: false once the last rank has gone.
  Result<bool> enter(uint32_t rank, uint32_t nranks);
  void go(uint32_t rank);
  [[nodiscard]] Bytes facts() const;
  Status connect(uint32_t rank, const std::vector<ByteView>& facts, Deadline deadline, const OnceFlag* stop);
  void watch(uint32_t rank, Watcher watcher);
  void waiting(uint32_t rank, const CallNote& call, WaitReason reason);
  void resumed(uint32_t rank);
  void report(uint32_t rank, const Status& why);
  Result<ShrinkDecision> shrink(uint32_t rank, const ShrinkRequest& request, Deadline deadline, const OnceFlag* stop);
  void refuse_shrink(uint32_t rank, const std::set<uint32_t>& without, const Status& why);
  void watch_losses(uint32_t rank, std::function<void(uint32_t)> lost);
  void leave(uint32_t rank, uint32_t begun);
  void settle(uint32_t rank, Deadline deadline);

 private:
  using LinkKey = std::pair<uint32_t, uint32_t>;  // a rank of this process, its neighbour elsewhere
  static constexpr uint64_t kAcceptorKey = UINT64_MAX;
  static uint64_t epoll_key(const LinkKey& key) { return uint64_t{key.first} << 32 | key.second; }
  static LinkKey link_key(uint64_t epoll_key) {
    return {static_cast<uint32_t>(epoll_key >> 32), static_cast<uint32_t>(epoll_key)};
  }

  struct Member {
    explicit Member(ControlMachine state) : machine(std::move(state)) {}
    ControlMachine machine;
    bool connected = false;
    std::set<uint32_t> lost;  // all so far
    std::set<uint32_t> left;  // all so far that are known
    std::optional<Watcher> watcher;
    std::shared_ptr<FailureWatch> watch = std::make_shared<FailureWatch>();
    bool told_failure = false;
    std::function<void(uint32_t)> on_loss;  // beside the watcher
  };
  struct Link {
    Link(ProvedStream stream, Direction sends, size_t most_bytes, std::chrono::seconds silent_timeout)
        : connection(std::move(stream), sends, most_bytes, silent_timeout) {}
    Connection connection;
    bool watches_output = false;
    bool closing = false;  // no more is said on it
    bool said_end = false;
  };
  struct Peer {
    uint64_t hub = 0;
    ProcessIdentity process;
    std::vector<SocketAddress> addresses;
  };
  struct Failure {
    std::shared_ptr<FailureWatch> watch;
    Status status;
  };

  Status listen(const RendezvousOptions& options);
  Status read_facts(const std::vector<ByteView>& facts);
  Status dial_peer(uint32_t rank, uint32_t peer, Deadline deadline, const OnceFlag* stop);
  Status await_peers(uint32_t rank, const std::vector<uint32_t>& peers, Deadline deadline, const OnceFlag* stop);
  void close_listener_if_done();

  // Does something with the mutex, then all that follows from it; calls the watchers of failures without it.
  template <typename Change>
  void change(Change change) {
    std::vector<Failure> failures;
    {
      const std::scoped_lock lock(mutex_);
      change();
      pump(Clock::now());
      failures.swap(to_tell_);
    }
    changed_.notify_all();
    for (const Failure& failure : failures) failure.watch->fire(failure.status);
  }

  // All of these with the mutex.
  void control(int operation, int fd, uint64_t key, uint32_t events) const;
  void enter_link(LinkKey key, ProvedStream stream, Direction sends);
  void take_in(Time now);
  void serve_ready(Time now);
  void read(LinkKey key, Link& link, Time now);
  void check_silence(Time now);
  void end_link(LinkKey key, const Status& how);
  void pump(Time now);
  void carry_out(uint32_t rank, Member& member, Time now);
  void push(LinkKey key, Link& link, Time now);
  void tell(Member& member);
  [[nodiscard]] static std::optional<Status> why_give_up(uint32_t rank, const Shrink& shrink,
                                                         const ShrinkRequest& request, Time begun, Deadline deadline,
                                                         const OnceFlag* stop);
  Result<ShrinkDecision> give_up_shrink(uint32_t rank, const Status& why);
  [[nodiscard]] Member* find(uint32_t rank);
  [[nodiscard]] Link* find(LinkKey key);
  [[nodiscard]] bool has_links(uint32_t rank) const;
  [[nodiscard]] std::string who(uint32_t rank) const;

  EventLoop& loop_;
  const uint64_t job_;
  const Secret secret_;
  const uint32_t nranks_;
  const std::chrono::seconds silent_timeout_;
  uint64_t token_ = 0;  // random: equal only within one hub
  const Fd epoll_;
  std::vector<SocketAddress> addresses_;

  mutable std::mutex mutex_;
  std::condition_variable changed_;  // a connection has come or gone, or a machine was fed
  std::optional<Acceptor> acceptor_;
  std::vector<Peer> peers_;  // by rank; once the first rank connects
  std::map<uint32_t, Member> members_;
  std::map<LinkKey, Link> links_;
  std::deque<uint32_t> dirty_;  // ranks whose machines may have something to say
  std::vector<Failure> to_tell_;
  bool ended_ = false;  // the last rank has gone
};

}  // namespace ronde
