// The part of authenticated_stream.h that takes in connections. What a stranger can cost is bounded here.
#include <fmt/format.h>
#include <sys/epoll.h>

#include <cerrno>
#include <map>
#include <new>
#include <utility>

#include "base/authenticated_stream.h"
#include "base/log.h"
#include "base/retry.h"

namespace ronde {
namespace {

constexpr size_t kMostUnproved = 64;
constexpr Milliseconds kProofLimit{5'000};
// What an honest side needs at least; a full house gives up no connection that is younger.
constexpr Milliseconds kYoung{100};
constexpr Milliseconds kPauseWithoutDescriptors{100};
constexpr Milliseconds kBetweenLogLines{1'000};
constexpr int kEventsAtOnce = 64;
constexpr int kAcceptsAtOnce = 64;

}  // namespace

struct Acceptor::Impl {
  struct Pending {
    Fd fd;
    ProofServer proof;
    Time opened;
    size_t received = 0;
  };

  Impl(std::vector<Fd> listening, const Secret& secret_of_job, uint64_t job_number)
      : listeners(std::move(listening)),
        secret(secret_of_job),
        job(job_number),
        epoll(Fd::make([] { return ::epoll_create1(EPOLL_CLOEXEC); })) {
    for (size_t i = 0; i < listeners.size(); ++i) control(EPOLL_CTL_ADD, listeners[i].get(), i, EPOLLIN);
  }

  void control(int operation, int fd, uint64_t key, uint32_t events) const {
    epoll_event event{};
    event.events = events;
    event.data.u64 = key;
    epoll_ctl(epoll.get(), operation, fd, &event);
  }

  // A listener that cannot be served for now must not keep the owner's poll awake.
  void pause(Deadline until) {
    if (paused_until.time() == Time::max())
      for (size_t i = 0; i < listeners.size(); ++i) control(EPOLL_CTL_MOD, listeners[i].get(), i, 0);
    paused_until = until;
  }
  void resume() {
    for (size_t i = 0; i < listeners.size(); ++i) control(EPOLL_CTL_MOD, listeners[i].get(), i, EPOLLIN);
    paused_until = Deadline::never();
    paused_when_full = false;
  }

  void advance(Time now, std::vector<ProvedStream>& proved) {
    if (paused_until.passed(now)) resume();
    while (!pending.empty() && now - pending.begin()->second.opened >= kProofLimit)
      drop(pending.begin(), "it was silent", now);

    epoll_event events[kEventsAtOnce];
    const int count = retry_interrupted([&] { return ::epoll_wait(epoll.get(), events, kEventsAtOnce, 0); });
    // Known connections first: they make room for new ones.
    for (int i = 0; i < count; ++i)
      if (events[i].data.u64 >= listeners.size()) serve(events[i].data.u64, now, proved);
    if (paused_when_full && pending.size() < kMostUnproved) resume();
    for (int i = 0; i < count; ++i)
      if (events[i].data.u64 < listeners.size()) accept_or_wait(listeners[events[i].data.u64].get(), now, proved);
  }

  void accept_or_wait(int listener, Time now, std::vector<ProvedStream>& proved) {
    try {
      accept_from(listener, now, proved);
    } catch (const std::bad_alloc&) {
      pause(Deadline::at(now + kPauseWithoutDescriptors));
    }
  }

  void accept_from(int listener, Time now, std::vector<ProvedStream>& proved) {
    for (int i = 0; i < kAcceptsAtOnce; ++i) {
      const bool full = pending.size() >= kMostUnproved;
      if (full && now - pending.begin()->second.opened < kYoung) {
        pause(Deadline::at(pending.begin()->second.opened + kYoung));
        paused_when_full = true;
        return;
      }
      Fd fd = Fd::make([&] { return ::accept4(listener, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK); });
      if (!fd.valid()) {
        if (errno == EAGAIN || errno == EWOULDBLOCK) return;
        if (errno == EMFILE || errno == ENFILE || errno == ENOMEM || errno == ENOBUFS) {
          const int error = errno;
          if (!std::exchange(told_limit, true))
            log::warn("{}", system_error("cannot take in a connection", error).message());
          return pause(Deadline::at(now + kPauseWithoutDescriptors));
        }
        continue;  // the other side has given up, or the network has: nothing of ours
      }
      if (full) drop(pending.begin(), "too many unproved connections", now);
      Nonce nonce;
      if (!random_bytes(nonce).ok()) return;
      const uint64_t key = next_key++;
      const auto [entry, added] = pending.try_emplace(key, Pending{std::move(fd), {secret, job, nonce}, now});
      control(EPOLL_CTL_ADD, entry->second.fd.get(), key, EPOLLIN);
      serve(key, now, proved);
    }
  }

  void serve(uint64_t key, Time now, std::vector<ProvedStream>& proved) {
    const auto entry = pending.find(key);
    if (entry == pending.end()) return;
    try {
      prove(entry, now, proved);
    } catch (const std::bad_alloc&) {  // the other side tries again
      pending.erase(entry);
    }
  }

  void prove(std::map<uint64_t, Pending>::iterator entry, Time now, std::vector<ProvedStream>& proved) {
    const uint64_t key = entry->first;
    Pending& one = entry->second;
    while (one.proof.state() == ProofState::more) {
      // Exactly what hello and proof need: what follows belongs to whoever gets the stream.
      std::array<std::byte, kHelloBytes + kProofBytes> buffer;
      const ssize_t got =
          retry_interrupted([&] { return ::recv(one.fd.get(), buffer.data(), buffer.size() - one.received, 0); });
      if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return;
      if (got <= 0) return drop(entry, "it went away", now);
      one.received += one.proof.feed(ByteView(buffer).first(static_cast<size_t>(got)));
      const ByteView answer = one.proof.take_answer();
      if (!answer.empty() && !send_small(one.fd.get(), answer)) return drop(entry, "it went away", now);
    }
    if (one.proof.state() == ProofState::refused) {
      if (one.proof.is_outsider()) outsider = peer_text(one.fd.get());
      return drop(entry, one.proof.refusal(), now);
    }
    proved.reserve(proved.size() + 1);  // before it is told that it is in
    if (!send_small(one.fd.get(), {&kAdmitted, 1})) return drop(entry, "it went away", now);

    control(EPOLL_CTL_DEL, one.fd.get(), key, 0);
    configure_tcp(one.fd.get());
    proved.push_back({std::move(one.fd), one.proof.claim(), one.proof.session_key()});
    pending.erase(entry);
  }

  // A new connection takes these few bytes at once, or it is broken.
  static bool send_small(int fd, ByteView bytes) {
    return retry_interrupted([&] { return ::send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL); }) ==
           static_cast<ssize_t>(bytes.size());
  }

  void drop(std::map<uint64_t, Pending>::iterator entry, const char* why, Time now) {
    if (now >= next_log_line && log::enabled(rondeLogInfo))
      tell(now, fmt::format("dropped a connection from {}: {}", peer_text(entry->second.fd.get()), why));
    pending.erase(entry);
  }

  // One line a second at most, whatever strangers do.
  void tell(Time now, const std::string& message) {
    if (now < next_log_line) return;
    next_log_line = now + kBetweenLogLines;
    log::info("{}", message);
  }

  std::vector<Fd> listeners;
  Secret secret;
  uint64_t job;
  Fd epoll;
  std::map<uint64_t, Pending> pending;  // in the order of their coming: keys only grow
  uint64_t next_key = 1'000'000;        // above the listeners' keys, which are their indices
  Deadline paused_until = Deadline::never();
  bool told_limit = false;
  bool paused_when_full = false;
  Time next_log_line{};
  std::optional<std::string> outsider;
};

Acceptor::Acceptor(Fd listener, const Secret& secret, uint64_t job) {
  std::vector<Fd> listeners;
  listeners.push_back(std::move(listener));
  impl_ = std::make_unique<Impl>(std::move(listeners), secret, job);
}
Acceptor::Acceptor(std::vector<Fd> listeners, const Secret& secret, uint64_t job)
    : impl_(std::make_unique<Impl>(std::move(listeners), secret, job)) {}
Acceptor::~Acceptor() = default;
Acceptor::Acceptor(Acceptor&&) noexcept = default;
Acceptor& Acceptor::operator=(Acceptor&&) noexcept = default;

int Acceptor::poll_fd() const { return impl_->epoll.get(); }

void Acceptor::advance(Time now, std::vector<ProvedStream>& proved) { impl_->advance(now, proved); }

std::optional<std::string> Acceptor::take_outsider() { return std::exchange(impl_->outsider, std::nullopt); }

Deadline Acceptor::next_deadline() const {
  Deadline next = impl_->paused_until;
  if (!impl_->pending.empty()) next = next.earlier(Deadline::at(impl_->pending.begin()->second.opened + kProofLimit));
  return next;
}

}  // namespace ronde
