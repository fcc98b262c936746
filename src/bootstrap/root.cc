// The root of a rendezvous on real sockets: feeds RootMachine. An event source of the loop that start_root was given.
#include <fmt/format.h>
#include <sys/epoll.h>

#include <cerrno>
#include <map>
#include <set>

#include "base/authenticated_stream.h"
#include "base/crypto.h"
#include "base/log.h"
#include "base/retry.h"
#include "bootstrap/connection.h"
#include "bootstrap/rendezvous.h"
#include "bootstrap/root_machine.h"

namespace ronde {
namespace {

constexpr Milliseconds kCloseLimit{5'000};  // for a connection that was told all and does not close
constexpr int kEventsAtOnce = 64;
constexpr uint64_t kAcceptorKey = 0;

class Root final : public EventSource {
 public:
  Root(std::vector<Fd> listeners, const UniqueId& id, Fd epoll, const RendezvousOptions& options)
      : epoll_(std::move(epoll)),
        acceptor_(std::in_place, std::move(listeners), id.secret, id.job),
        silent_timeout_(options.silent_timeout),
        secret_is_given_(id.retry_refused),
        machine_(ProcessIdentity::of_this_process(), options.init_timeout, Clock::now()) {
    control(EPOLL_CTL_ADD, acceptor_->poll_fd(), kAcceptorKey, EPOLLIN);
  }

  ~Root() override {
    serve_ready(Clock::now());  // a rank of this process may have left a moment ago
    if (!machine_.finished()) machine_.end();
    carry_out(Clock::now());
    for (auto& [key, peer] : peers_) {
      peer.connection.flush(Clock::now());
      peer.connection.finish_sending();
      peer.connection.drain();
    }
  }
  Root(const Root&) = delete;
  Root& operator=(const Root&) = delete;

  [[nodiscard]] int descriptor() const override { return epoll_.get(); }

  bool advance(Time now) override {
    if (acceptor_) take_in(now);
    serve_ready(now);
    check_silence(now);
    machine_.advance(now);
    carry_out(now);
    drop_overdue(now);
    if (machine_.finished()) acceptor_.reset();
    return !machine_.finished() || !peers_.empty();
  }

  [[nodiscard]] Deadline next_deadline() const override {
    Deadline next = machine_.next_deadline();
    if (acceptor_) next = next.earlier(acceptor_->next_deadline());
    for (const auto& [key, peer] : peers_) next = next.earlier(peer.close_by).earlier(peer.connection.next_check());
    return next;
  }

 private:
  struct Peer {
    Connection connection;
    bool watches_output = false;
    bool closing = false;
    bool told_end = false;
    Deadline close_by = Deadline::never();
  };
  using Peers = std::map<ConnectionId, Peer>;

  void control(int operation, int fd, uint64_t key, uint32_t events) const {
    epoll_event event{};
    event.events = events;
    event.data.u64 = key;
    epoll_ctl(epoll_.get(), operation, fd, &event);
  }

  void take_in(Time now) {
    std::vector<ProvedStream> proved;
    acceptor_->advance(now, proved);
    const std::optional<std::string> outsider = acceptor_->take_outsider();
    if (outsider && secret_is_given_ && !std::exchange(told_outsider_, true))
      log::warn(
          "a connection from {} does not have the secret of this job: if it is a rank of this job, its "
          "RONDE_SECRET_FILE or the port of the meeting point differs from this rank's",
          *outsider);
    for (ProvedStream& stream : proved) {
      const ConnectionId key = next_key_++;
      const Claim claim = stream.claim;
      const auto [entry, added] = peers_.try_emplace(
          key, Peer{Connection(std::move(stream), Direction::to_client, kMostBytesToRoot, silent_timeout_)});
      control(EPOLL_CTL_ADD, entry->second.connection.fd(), key, EPOLLIN);
      machine_.opened(key, claim);
    }
  }

  void serve_ready(Time now) {
    epoll_event events[kEventsAtOnce];
    const int count = retry_interrupted([&] { return ::epoll_wait(epoll_.get(), events, kEventsAtOnce, 0); });
    for (int i = 0; i < count; ++i) {
      const auto entry = peers_.find(events[i].data.u64);
      if (entry == peers_.end()) continue;
      push(entry->first, entry->second, now);
      read(entry, now);
    }
  }

  void read(Peers::iterator entry, Time now) {
    std::vector<Bytes> messages;
    const std::optional<Status> end = entry->second.connection.receive(messages);
    if (!entry->second.closing)
      for (const Bytes& message : messages) machine_.received(entry->first, message, now);
    if (end) lose(entry, *end, now);
  }

  // The next entry.
  Peers::iterator lose(Peers::iterator entry, const Status& how, Time now) {
    if (!entry->second.closing) machine_.closed(entry->first, how, now);
    return peers_.erase(entry);
  }

  void check_silence(Time now) {
    for (auto entry = peers_.begin(); entry != peers_.end();) {
      const auto silent = entry->second.connection.check(now);
      entry = silent ? lose(entry, *silent, now) : std::next(entry);
    }
  }

  void carry_out(Time now) {
    std::set<ConnectionId> touched;
    for (RootMachine::Outgoing& outgoing : machine_.take_messages()) {
      const auto entry = peers_.find(outgoing.connection);
      if (entry == peers_.end()) continue;
      entry->second.connection.send(std::move(outgoing.message));
      touched.insert(outgoing.connection);
    }
    for (const ConnectionId key : machine_.take_closes()) {
      const auto entry = peers_.find(key);
      if (entry == peers_.end()) continue;
      entry->second.closing = true;
      entry->second.close_by = Deadline::at(now + kCloseLimit);
      touched.insert(key);
    }
    for (const ConnectionId key : touched) push(key, peers_.find(key)->second, now);
  }

  void push(ConnectionId key, Peer& peer, Time now) const {
    peer.connection.flush(now);
    const bool unsent = peer.connection.has_unsent();
    if (unsent != peer.watches_output)
      control(EPOLL_CTL_MOD, peer.connection.fd(), key, unsent ? EPOLLIN | EPOLLOUT : EPOLLIN);
    peer.watches_output = unsent;
    if (!peer.closing || unsent || std::exchange(peer.told_end, true)) return;
    peer.connection.finish_sending();
  }

  void drop_overdue(Time now) {
    std::erase_if(peers_, [&](const auto& entry) { return entry.second.close_by.passed(now); });
  }

  Fd epoll_;
  std::optional<Acceptor> acceptor_;
  const std::chrono::seconds silent_timeout_;
  const bool secret_is_given_;  // to each rank, by its user: they may differ
  bool told_outsider_ = false;
  RootMachine machine_;
  Peers peers_;
  ConnectionId next_key_ = kAcceptorKey + 1;
};

Result<std::weak_ptr<EventSource>> serve(EventLoop& loop, std::vector<Listener> listeners, const UniqueId& id,
                                         const RendezvousOptions& options) {
  Fd epoll = Fd::make([] { return ::epoll_create1(EPOLL_CLOEXEC); });
  if (!epoll.valid()) return system_error("no epoll descriptor for the meeting point", errno);
  std::vector<Fd> fds;
  fds.reserve(listeners.size());
  for (Listener& listener : listeners) fds.push_back(std::move(listener.fd));
  const auto root = std::make_shared<Root>(std::move(fds), id, std::move(epoll), options);
  RONDE_TRY(loop.add(root));
  return std::weak_ptr<EventSource>(root);
}

}  // namespace

Result<std::vector<Listener>> listen_for_ranks(const RendezvousOptions& options, uint16_t port) {
  if (!options.socket_ifname.empty()) {
    RONDE_ASSIGN(const auto addresses, local_addresses(options.socket_ifname, options.socket_family));
    return listen_tcp_on(addresses, port);
  }
  std::optional<SocketAddress> any;
  if (options.socket_family == AF_INET) any = SocketAddress::ipv4({}, 0);
  if (options.socket_family == AF_INET6) any = SocketAddress::ipv6({}, 0);
  RONDE_ASSIGN(Listener listener, listen_tcp(any, port));
  std::vector<Listener> listeners;
  listeners.push_back(std::move(listener));
  return listeners;
}

Result<UniqueId> start_root(EventLoop& loop, const RendezvousOptions& options) {
  RONDE_ASSIGN(const uint64_t job, random_number<uint64_t>());
  RONDE_ASSIGN(const Secret secret, Secret::random());
  RONDE_ASSIGN(OwnedRoot root, OwnedRoot::start(loop, options, job, secret));
  root.keep();
  return root.id();
}

Result<OwnedRoot> OwnedRoot::start(EventLoop& loop, const RendezvousOptions& options, uint64_t job,
                                   const Secret& secret) {
  UniqueId id;
  id.job = job;
  id.secret = secret;
  RONDE_ASSIGN(id.addresses, local_addresses(options.socket_ifname, options.socket_family));
  RONDE_ASSIGN(std::vector<Listener> listeners, listen_for_ranks(options, options.port));
  id.port = listeners.front().port;
  RONDE_ASSIGN(std::weak_ptr<EventSource> root, serve(loop, std::move(listeners), id, options));
  log::info("meeting point at {}", id.addresses.front().with_port(id.port).text());
  return OwnedRoot(loop, std::move(id), std::move(root));
}

OwnedRoot::~OwnedRoot() {
  if (const auto root = root_.lock()) loop_.remove(*root);
}

Status start_root_for(EventLoop& loop, const UniqueId& id, const RendezvousOptions& options) {
  RONDE_ASSIGN(std::vector<Listener> listeners, listen_for_ranks(options, id.port));
  const auto root = serve(loop, std::move(listeners), id, options);
  if (!root.ok()) return root.status();
  log::info("meeting point at port {}", id.port);
  return {};
}

}  // namespace ronde
