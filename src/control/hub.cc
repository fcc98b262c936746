#include "control/hub.h"

#include <fmt/format.h>
#include <sys/epoll.h>

#include <algorithm>
#include <cerrno>

#include "base/crypto.h"
#include "base/log.h"
#include "base/retry.h"
#include "control/graph.h"

namespace ronde {
namespace {

constexpr Milliseconds kStopPoll{50};  // how often it is asked whether to stop
constexpr Milliseconds kMissingWarning{10'000};
constexpr Milliseconds kLastWord{500};  // for a decision that crosses with giving up

std::string seconds_since(Time begun) {
  return fmt::format("{:.1f} s", std::chrono::duration<double>(Clock::now() - begun).count());
}
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

}  // namespace

// ---- Making --------------------------------------------------------------------------------------------------------

Result<std::shared_ptr<ControlHub>> ControlHub::make(EventLoop& loop, const ControlOptions& options) {
  Fd epoll = Fd::make([] { return ::epoll_create1(EPOLL_CLOEXEC); });
  if (!epoll.valid()) return system_error("no epoll descriptor for the control connections", errno);
  auto hub = std::make_shared<ControlHub>(loop, options, std::move(epoll));
  RONDE_ASSIGN(hub->token_, random_number<uint64_t>());
  if (!options.within_process && options.nranks > 1) RONDE_TRY(hub->listen(options.meeting));
  RONDE_TRY(loop.add(hub));
  return hub;
}

ControlHub::ControlHub(EventLoop& loop, const ControlOptions& options, Fd epoll)
    : loop_(loop),
      job_(options.job),
      secret_(options.secret),
      nranks_(options.nranks),
      silent_timeout_(options.meeting.silent_timeout),
      epoll_(std::move(epoll)) {}

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
  RONDE_ASSIGN(ProvedStream stream, dial(peers_[peer].addresses, secret_, claim, fmt::format("rank {}", peer),
                                         {.deadline = deadline, .stop = stop}));
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
void ControlHub::enter_link(LinkKey key, ProvedStream stream, Direction sends) {
  Member* member = find(key.first);
  const auto [entry, is_new] =
      links_.try_emplace(key, std::move(stream), sends, most_control_bytes(nranks_), silent_timeout_);
  if (!is_new) return;
  control(EPOLL_CTL_ADD, entry->second.connection.fd(), epoll_key(key), EPOLLIN);
  member->machine.linked(key.second);
  changed_.notify_all();
}

// ---- The ranks of this process -------------------------------------------------------------------------------------

void ControlHub::watch(uint32_t rank, Watcher watcher) {
  std::shared_ptr<FailureWatch> watch;
  std::function<void(Status)> failed = std::move(watcher.failed);
  {
    const std::scoped_lock lock(mutex_);
    Member& member = *find(rank);
    member.watcher = std::move(watcher);
    for (const uint32_t lost : member.lost) member.watcher->lost(lost);
    for (const uint32_t left : member.left) member.watcher->left(left, who(left));
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
  change([&] {
    find(rank)->machine.resumed();
    dirty_.push_back(rank);
  });
}

void ControlHub::report(uint32_t rank, const Status& why) {
  change([&] {
    find(rank)->machine.report(why);
    dirty_.push_back(rank);
  });
}

Result<ShrinkDecision> ControlHub::shrink(uint32_t rank, const ShrinkRequest& request, Deadline deadline,
                                          const OnceFlag* stop) {
  change([&] {
    find(rank)->machine.begin_shrink(request.without, Clock::now());
    dirty_.push_back(rank);
  });
  loop_.poke(*this);  // it may have a deadline now
  const Time begun = Clock::now();
  Deadline warning = Deadline::after(kMissingWarning);
  for (;;) {
    {
      std::unique_lock lock(mutex_);
      const ControlMachine& machine = find(rank)->machine;
      if (machine.has_left())
        return Status(rondeInvalidUsage, "the communicator was finalized: nothing can follow it any more");
      if (const ShrinkDecision* decision = machine.shrink().decision()) return *decision;
      if (const auto why = why_give_up(rank, machine.shrink(), request, begun, deadline, stop)) {
        lock.unlock();
        return give_up_shrink(rank, *why);
      }
      if (!machine.shrink().wants_meeting()) {
        if (warning.passed()) {
          const std::string missing = ranks_text(machine.shrink().missing());
          lock.unlock();  // the user's callback may take long, or call the library
          log::warn("rank {} has waited {} in rondeCommShrink for {}: {}", rank, seconds_since(begun), missing,
                    request.missing_means);
          warning = Deadline::after(kMissingWarning);
          continue;
        }
        changed_.wait_until(lock, std::min(deadline.time(), Clock::now() + kStopPoll));
        continue;
      }
    }
    const Result<Bytes> meeting = request.make_meeting();
    change([&] {
      find(rank)->machine.meet_at(meeting, Clock::now());
      dirty_.push_back(rank);
    });
  }
}

// The others may have decided already, and go on with this rank.
Result<ShrinkDecision> ControlHub::give_up_shrink(uint32_t rank, const Status& why) {
  change([&] {
    find(rank)->machine.give_up_shrink(why, Clock::now());
    dirty_.push_back(rank);
  });
  std::unique_lock lock(mutex_);
  const auto decision = [&] { return find(rank)->machine.shrink().decision(); };
  changed_.wait_until(lock, Clock::now() + kLastWord, [&] { return decision() != nullptr; });
  if (decision() != nullptr && decision()->status.ok()) return *decision();
  return why;
}

void ControlHub::refuse_shrink(uint32_t rank, const std::set<uint32_t>& without, const Status& why) {
  change([&] {
    find(rank)->machine.begin_shrink(without, Clock::now(), why);
    dirty_.push_back(rank);
  });
  loop_.poke(*this);
}

std::optional<Status> ControlHub::why_give_up(uint32_t rank, const Shrink& shrink, const ShrinkRequest& request,
                                              Time begun, Deadline deadline, const OnceFlag* stop) {
  if (stop != nullptr && stop->is_set()) return gave_up_shrink(rank);
  if (!deadline.passed()) return std::nullopt;
  return Status(rondeTimedOut,
                fmt::format("rank {} has waited {} in rondeCommShrink (the limit of RONDE_INIT_TIMEOUT) for {}: {}",
                            rank, seconds_since(begun), ranks_text(shrink.missing()), request.missing_means));
}

void ControlHub::watch_losses(uint32_t rank, std::function<void(uint32_t)> lost) {
  const std::scoped_lock lock(mutex_);
  Member& member = *find(rank);
  member.on_loss = std::move(lost);
  for (const uint32_t gone : member.lost)
    if (member.on_loss) member.on_loss(gone);
}

void ControlHub::leave(uint32_t rank, uint32_t begun) {
  std::shared_ptr<FailureWatch> watch;
  change([&] {
    Member& member = *find(rank);
    watch = member.watch;
    member.machine.leave(begun, Clock::now());
    dirty_.push_back(rank);
    pump(Clock::now());  // before the connections close
    for (auto& [key, link] : links_) {
      if (key.first != rank) continue;
      link.closing = true;
      push(key, link, Clock::now());
    }
  });
  watch->cancel();
  loop_.poke(*this);  // others of this process may have a deadline now
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
      state.machine.closed(rank, kVanished, Clock::now());  // nothing if it has said goodbye
      dirty_.push_back(other);
    }
    close_listener_if_done();
    last = ended_ = members_.empty();
  });
  watch->cancel();
  last ? loop_.remove(*this) : loop_.poke(*this);
}

}  // namespace ronde
