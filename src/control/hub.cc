#include "control/hub.h"

#include <fmt/format.h>
#include <sys/epoll.h>

#include <algorithm>
#include <cerrno>

#include "base/retry.h"
#include "control/graph.h"

namespace ronde {
namespace {

constexpr int kEventsAtOnce = 64;
constexpr uint64_t kAcceptorKey = UINT64_MAX;
constexpr Milliseconds kStopPoll{50};  // how often it is asked whether to stop
const Status kVanished(rondePeerLost, "ended without saying goodbye");

struct ControlFacts {
  uint64_t hub = 0;
  ProcessIdentity process;
  std::vector<SocketAddress> addresses;
};

Bytes write_facts(const ControlFacts& facts) {
  Writer writer;
  writer.number(facts.hub);
  writer.text(facts.process.host).number(facts.process.pid).number(facts.process.token);
  writer.number(static_cast<uint32_t>(facts.addresses.size()));
  for (const SocketAddress& address : facts.addresses) write_address(writer, address);
  return writer.take();
}

std::optional<ControlFacts> facts_from(ByteView bytes) {
  Reader reader(bytes);
  ControlFacts facts;
  facts.hub = reader.number<uint64_t>();
  facts.process.host = reader.text();
  facts.process.pid = reader.number<uint32_t>();
  facts.process.token = reader.number<uint64_t>();
  const auto count = reader.number<uint32_t>();
  for (uint32_t i = 0; i < count && reader.ok(); ++i) {
    const auto address = read_address(reader);
    if (!address) return std::nullopt;
    facts.addresses.push_back(*address);
  }
  if (!reader.complete()) return std::nullopt;
  return facts;
}

uint64_t epoll_key(uint32_t rank, uint32_t peer) { return uint64_t{rank} << 32 | peer; }

}  // namespace

// ---- Making --------------------------------------------------------------------------------------------------------

Result<std::shared_ptr<ControlHub>> ControlHub::make(EventLoop& loop, const ControlOptions& options) {
  Fd epoll = Fd::make([] { return ::epoll_create1(EPOLL_CLOEXEC); });
  if (!epoll.valid()) return system_error("no epoll descriptor for the control connections", errno);
  auto hub = std::make_shared<ControlHub>(loop, options, std::move(epoll));
  RONDE_TRY(random_bytes(std::as_writable_bytes(std::span(&hub->token_, 1))));
  if (!options.within_process && options.nranks > 1) RONDE_TRY(hub->listen(options.meeting));
  RONDE_TRY(loop.add(hub));
  return hub;
}

ControlHub::ControlHub(EventLoop& loop, const ControlOptions& options, Fd epoll)
    : loop_(loop), job_(options.job), secret_(options.secret), nranks_(options.nranks), epoll_(std::move(epoll)) {}

ControlHub::~ControlHub() = default;

Status ControlHub::listen(const RendezvousOptions& options) {
  RONDE_ASSIGN(const std::vector<SocketAddress> addresses,
               local_addresses(options.socket_ifname, options.socket_family));
  RONDE_ASSIGN(std::vector<Listener> listeners, listen_for_ranks(options, 0));
  for (const SocketAddress& address : addresses) addresses_.push_back(address.with_port(listeners.front().port));
  std::vector<Fd> fds;
  for (Listener& listener : listeners) fds.push_back(std::move(listener.fd));
  acceptor_.emplace(std::move(fds), secret_, job_);
  control(EPOLL_CTL_ADD, acceptor_->poll_fd(), kAcceptorKey, EPOLLIN);
  return {};
}

Bytes ControlHub::facts() const { return write_facts({token_, ProcessIdentity::of_this_process(), addresses_}); }

Result<bool> ControlHub::enter(uint32_t rank, uint32_t nranks) {
  const std::scoped_lock lock(mutex_);
  if (ended_) return false;
  if (nranks != nranks_)
    return Status(rondeInvalidUsage, fmt::format("rank {} was started as one of {} ranks, but others of its process as "
                                                 "one of {}: all must be given the same number",
                                                 rank, nranks, nranks_));
  const auto name = [this](uint32_t about) { return who(about); };
  const auto whereabouts = [this, rank](uint32_t sequence) {
    const Member* member = find(rank);
    return member != nullptr && member->watcher ? member->watcher->whereabouts(sequence) : Whereabouts();
  };
  const bool is_new = members_.try_emplace(rank, ControlMachine(rank, nranks_, name, whereabouts)).second;
  if (!is_new)
    return Status(rondeInvalidUsage,
                  fmt::format("rank {} lives in this process already: an id is good for one communicator", rank));
  return true;
}

Status ControlHub::read_facts(const std::vector<ByteView>& facts) {
  if (!peers_.empty()) return {};
  std::vector<Peer> peers;
  for (size_t rank = 0; rank < facts.size(); ++rank) {
    std::optional<ControlFacts> theirs = facts_from(facts[rank]);
    if (!theirs) return {rondeInternalError, fmt::format("rank {} sent addresses that cannot be read", rank)};
    peers.push_back({theirs->hub, std::move(theirs->process), std::move(theirs->addresses)});
  }
  peers_ = std::move(peers);
  return {};
}

Status ControlHub::connect(uint32_t rank, const std::vector<ByteView>& facts, Deadline deadline, const OnceFlag* stop) {
  std::vector<uint32_t> to_dial;
  std::vector<uint32_t> to_await;
  {
    const std::scoped_lock lock(mutex_);
    RONDE_TRY(read_facts(facts));
    for (const uint32_t peer : control_neighbours(rank, nranks_)) {
      if (peers_[peer].hub == token_) {
        find(rank)->machine.linked(peer);
      } else {
        (makes_control_connection(rank, peer) ? to_dial : to_await).push_back(peer);
      }
    }
  }
  for (const uint32_t peer : to_dial) RONDE_TRY(dial_peer(rank, peer, deadline, stop));
  RONDE_TRY(await_peers(rank, to_await, deadline, stop));
  const std::scoped_lock lock(mutex_);
  find(rank)->connected = true;
  close_listener_if_done();
  return {};
}

Status ControlHub::dial_peer(uint32_t rank, uint32_t peer, Deadline deadline, const OnceFlag* stop) {
  Claim claim;
  claim.job = job_;
  claim.role = Role::control;
  claim.client_rank = rank;
  claim.server_rank = peer;
  // Not changed any more once a rank connects.
  RONDE_ASSIGN(Stream stream,
               dial(peers_[peer].addresses, secret_, claim, fmt::format("rank {}", peer), false, deadline, stop));
  const std::scoped_lock lock(mutex_);
  enter_link({rank, peer}, std::move(stream), Direction::to_server);
  return {};
}

Status ControlHub::await_peers(uint32_t rank, const std::vector<uint32_t>& peers, Deadline deadline,
                               const OnceFlag* stop) {
  std::unique_lock lock(mutex_);
  for (const uint32_t peer : peers) {
    while (find(LinkKey{rank, peer}) == nullptr) {
      if (stop != nullptr && stop->is_set()) return {rondeAborted, "the start was given up"};
      const Time now = Clock::now();
      if (deadline.passed(now))
        return {rondeTimedOut, fmt::format("rank {} did not make its control connection in time", peer)};
      changed_.wait_until(lock, std::min(deadline.time(), now + kStopPoll));
    }
  }
  return {};
}

void ControlHub::close_listener_if_done() {
  const bool done =
      std::all_of(members_.begin(), members_.end(), [](const auto& entry) { return entry.second.connected; });
  if (done) acceptor_.reset();
}

// With the mutex.
void ControlHub::enter_link(LinkKey key, Stream stream, Direction sends) {
  Member* member = find(key.first);
  const auto [entry, is_new] = links_.try_emplace(key, std::move(stream), sends, most_control_bytes(nranks_));
  if (!is_new) return;
  control(EPOLL_CTL_ADD, entry->second.connection.fd(), epoll_key(key.first, key.second), EPOLLIN);
  member->machine.linked(key.second);
  changed_.notify_all();
}

// ---- The ranks of this process -------------------------------------------------------------------------------------

// Does something with the mutex, then all that follows from it; calls the watchers of failures without it.
template <typename Change>
void ControlHub::change(Change change) {
  std::vector<Failure> failures;
  {
    const std::scoped_lock lock(mutex_);
    change();
    pump(Clock::now());
    failures.swap(to_tell_);
  }
  for (const Failure& failure : failures) failure.watch->fire(failure.status);
}

void ControlHub::watch(uint32_t rank, Watcher watcher) {
  std::shared_ptr<FailureWatch> watch;
  std::function<void(Status)> failed = std::move(watcher.failed);
  {
    const std::scoped_lock lock(mutex_);
    Member& member = *find(rank);
    member.watcher = std::move(watcher);
    for (const uint32_t lost : member.lost) member.watcher->lost(lost);
    watch = member.watch;
  }
  watch->set(std::move(failed));
}

void ControlHub::waiting(uint32_t rank, const CallNote& call, WaitReason reason) {
  change([&] {
    find(rank)->machine.waiting(call, reason, Clock::now());
    dirty_.push_back(rank);
  });
  loop_.poke(*this);  // a deadline has come
}

void ControlHub::resumed(uint32_t rank) {
  const std::scoped_lock lock(mutex_);
  find(rank)->machine.resumed();
}

void ControlHub::report(uint32_t rank, const Status& why) {
  change([&] {
    find(rank)->machine.report(why);
    dirty_.push_back(rank);
  });
}

void ControlHub::leave(uint32_t rank, uint32_t begun) {
  std::shared_ptr<FailureWatch> watch;
  change([&] {
    Member& member = *find(rank);
    watch = member.watch;
    member.machine.leave(begun);
    dirty_.push_back(rank);
    pump(Clock::now());
    for (auto& [key, link] : links_) {
      if (key.first != rank) continue;
      link.closing = true;
      push(key, link, Clock::now());
    }
  });
  watch->cancel();
}

void ControlHub::settle(uint32_t rank, Deadline deadline) {
  std::unique_lock lock(mutex_);
  changed_.wait_until(lock, deadline.time(), [&] { return !has_links(rank); });
}

void ControlHub::go(uint32_t rank) {
  std::shared_ptr<FailureWatch> watch;
  bool last = false;
  change([&] {
    const auto member = members_.extract(rank);
    watch = member.mapped().watch;
    std::erase_if(links_, [rank](const auto& entry) { return entry.first.first == rank; });
    for (auto& [other, state] : members_) {
      state.machine.closed(rank, kVanished);  // nothing if it has said goodbye
      dirty_.push_back(other);
    }
    close_listener_if_done();
    last = ended_ = members_.empty();
  });
  watch->cancel();
  if (last) loop_.remove(*this);
}

// ---- The loop ------------------------------------------------------------------------------------------------------

bool ControlHub::advance(Time now) {
  change([&] {
    if (acceptor_) take_in(now);
    serve_ready(now);
    check_silence(now);
    for (auto& [rank, member] : members_) {
      if (!member.machine.next_deadline().passed(now)) continue;
      member.machine.advance(now);
      dirty_.push_back(rank);
    }
  });
  return true;
}

Deadline ControlHub::next_deadline() const {
  const std::scoped_lock lock(mutex_);
  Deadline next = acceptor_ ? acceptor_->next_deadline() : Deadline::never();
  for (const auto& [rank, member] : members_) next = next.earlier(member.machine.next_deadline());
  for (const auto& [key, link] : links_) next = next.earlier(Deadline::at(link.check_at));
  return next;
}

void ControlHub::control(int operation, int fd, uint64_t key, uint32_t events) const {
  epoll_event event{};
  event.events = events;
  event.data.u64 = key;
  epoll_ctl(epoll_.get(), operation, fd, &event);
}

void ControlHub::take_in(Time now) {
  std::vector<Stream> proved;
  acceptor_->advance(now, proved);
  for (Stream& stream : proved) {
    const uint32_t peer = stream.claim.client_rank;
    const uint32_t rank = stream.claim.server_rank;
    const std::vector<uint32_t> neighbours =
        rank < nranks_ ? control_neighbours(rank, nranks_) : std::vector<uint32_t>();
    const bool meant = stream.claim.role == Role::control && find(rank) != nullptr &&
                       makes_control_connection(peer, rank) &&
                       std::binary_search(neighbours.begin(), neighbours.end(), peer);
    if (meant) enter_link({rank, peer}, std::move(stream), Direction::to_client);
  }
}

void ControlHub::serve_ready(Time now) {
  epoll_event events[kEventsAtOnce];
  const int count = retry_interrupted([&] { return ::epoll_wait(epoll_.get(), events, kEventsAtOnce, 0); });
  for (int i = 0; i < count; ++i) {
    const uint64_t epoll_key = events[i].data.u64;
    const LinkKey key{static_cast<uint32_t>(epoll_key >> 32), static_cast<uint32_t>(epoll_key)};
    Link* link = find(key);
    if (epoll_key == kAcceptorKey || link == nullptr) continue;
    push(key, *link, now);
    read(key, *link, now);
  }
}

void ControlHub::read(LinkKey key, Link& link, Time now) {
  std::vector<Bytes> messages;
  const std::optional<Status> end = link.connection.receive(messages);
  Member& member = *find(key.first);
  for (const Bytes& message : messages) member.machine.received(key.second, message, now);
  dirty_.push_back(key.first);
  if (end) end_link(key, *end);
}

void ControlHub::end_link(LinkKey key, const Status& how) {
  find(key.first)->machine.closed(key.second, how);
  dirty_.push_back(key.first);
  links_.erase(key);
  changed_.notify_all();
}

void ControlHub::check_silence(Time now) {
  std::vector<LinkKey> silent;
  for (auto& [key, link] : links_) {
    if (now < link.check_at) continue;
    const Delivery delivery = delivery_of(link.connection.fd());
    if (link.silence.observe(delivery, now)) silent.push_back(key);
    link.check_at = delivery.state == Delivery::State::done ? Time::max() : now + SilenceClock::kCheckEvery;
  }
  for (const LinkKey& key : silent) {
    const std::string address = find(key)->connection.peer();
    end_link(key,
             {rondePeerUnreachable,
              fmt::format("is silent: its host has not acknowledged anything for {} s (connection to {})",
                          std::chrono::duration_cast<std::chrono::seconds>(SilenceClock::kLimit).count(), address)});
  }
}

// Until no machine has anything more to say.
void ControlHub::pump(Time now) {
  while (!dirty_.empty()) {
    const uint32_t rank = dirty_.front();
    dirty_.pop_front();
    if (Member* member = find(rank)) carry_out(rank, *member, now);
  }
}

void ControlHub::carry_out(uint32_t rank, Member& member, Time now) {
  std::set<uint32_t> touched;
  for (const Flood::Outgoing& outgoing : member.machine.take_messages()) {
    if (Link* link = find(LinkKey{rank, outgoing.peer})) {
      link->connection.send(outgoing.message);
      touched.insert(outgoing.peer);
    } else if (Member* peer = find(outgoing.peer)) {
      peer->machine.received(rank, outgoing.message->bytes, now);
      dirty_.push_back(outgoing.peer);
    }
  }
  for (const uint32_t peer : member.machine.take_closes()) {
    if (Link* link = find(LinkKey{rank, peer})) {
      link->closing = true;
      touched.insert(peer);
    }
  }
  for (const uint32_t peer : touched) push({rank, peer}, *find(LinkKey{rank, peer}), now);
  tell(member);
}

void ControlHub::push(LinkKey key, Link& link, Time now) {
  link.connection.flush();
  const bool unsent = link.connection.has_unsent();
  if (link.check_at == Time::max()) link.check_at = now + SilenceClock::kCheckEvery;
  if (unsent != link.watches_output)
    control(EPOLL_CTL_MOD, link.connection.fd(), epoll_key(key.first, key.second),
            unsent ? EPOLLIN | EPOLLOUT : EPOLLIN);
  link.watches_output = unsent;
  if (link.closing && !unsent && !std::exchange(link.said_end, true)) link.connection.finish_sending();
}

// leave() waits for the mutex, so the watcher is not called after that.
void ControlHub::tell(Member& member) {
  const std::vector<uint32_t> lost = member.machine.take_lost();
  const std::vector<LateNote> notes = member.machine.take_late_notes();
  member.lost.insert(lost.begin(), lost.end());
  if (member.machine.has_left()) return;
  if (member.watcher) {
    for (const uint32_t rank : lost) member.watcher->lost(rank);
    for (const LateNote& note : notes) member.watcher->late(note);
  }
  if (member.machine.failure() && !std::exchange(member.told_failure, true))
    to_tell_.push_back({member.watch, *member.machine.failure()});
}

ControlHub::Member* ControlHub::find(uint32_t rank) {
  const auto member = members_.find(rank);
  return member == members_.end() ? nullptr : &member->second;
}

ControlHub::Link* ControlHub::find(LinkKey key) {
  const auto link = links_.find(key);
  return link == links_.end() ? nullptr : &link->second;
}

bool ControlHub::has_links(uint32_t rank) const {
  const auto first = links_.lower_bound({rank, 0});
  return first != links_.end() && first->first.first == rank;
}

std::string ControlHub::who(uint32_t rank) const {
  if (rank >= peers_.size()) return fmt::format("rank {}", rank);
  return fmt::format("rank {} ({})", rank, peers_[rank].process.text());
}

}  // namespace ronde
