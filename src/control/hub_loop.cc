// The side of ControlHub that the event loop drives: what comes in and goes out, and what follows from it.
#include <fmt/format.h>
#include <sys/epoll.h>

#include <algorithm>

#include "base/retry.h"
#include "control/graph.h"
#include "control/hub.h"

namespace ronde {
namespace {

constexpr int kEventsAtOnce = 64;

}  // namespace

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
  for (const auto& [key, link] : links_) next = next.earlier(link.connection.next_check());
  return next;
}

void ControlHub::control(int operation, int fd, uint64_t key, uint32_t events) const {
  epoll_event event{};
  event.events = events;
  event.data.u64 = key;
  epoll_ctl(epoll_.get(), operation, fd, &event);
}

void ControlHub::take_in(Time now) {
  std::vector<ProvedStream> proved;
  acceptor_->advance(now, proved);
  for (ProvedStream& stream : proved) {
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
    const uint64_t event_key = events[i].data.u64;
    const LinkKey key = link_key(event_key);
    Link* link = find(key);
    if (event_key == kAcceptorKey || link == nullptr) continue;
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
  find(key.first)->machine.closed(key.second, how, Clock::now());
  dirty_.push_back(key.first);
  links_.erase(key);
  changed_.notify_all();
}

void ControlHub::check_silence(Time now) {
  std::vector<std::pair<LinkKey, Status>> silent;
  for (auto& [key, link] : links_) {
    if (auto why = link.connection.check(now)) silent.emplace_back(key, std::move(*why));
  }
  for (const auto& [key, why] : silent) end_link(key, why);
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
  link.connection.flush(now);
  const bool unsent = link.connection.has_unsent();
  if (unsent != link.watches_output)
    control(EPOLL_CTL_MOD, link.connection.fd(), epoll_key(key), unsent ? EPOLLIN | EPOLLOUT : EPOLLIN);
  link.watches_output = unsent;
  if (link.closing && !unsent && !std::exchange(link.said_end, true)) link.connection.finish_sending();
}

// leave() waits for the mutex, so the watcher is not called after that.
void ControlHub::tell(Member& member) {
  const std::vector<uint32_t> lost = member.machine.take_lost();
  const std::vector<uint32_t> left = member.machine.take_left();
  const std::vector<LateNote> notes = member.machine.take_late_notes();
  member.lost.insert(lost.begin(), lost.end());
  member.left.insert(left.begin(), left.end());
  for (const uint32_t rank : lost)
    if (member.on_loss) member.on_loss(rank);
  if (member.machine.has_left()) return;
  if (member.watcher) {
    for (const uint32_t rank : lost) member.watcher->lost(rank);
    for (const uint32_t rank : left) member.watcher->left(rank, who(rank));
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
