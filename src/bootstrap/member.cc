// A member of a rendezvous on a real socket: feeds MemberMachine, in the caller's thread while it exchanges, on the
// event loop once it watches.
#include <fmt/format.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>

#include <algorithm>
#include <cerrno>
#include <mutex>

#include "base/authenticated_stream.h"
#include "base/log.h"
#include "base/retry.h"
#include "bootstrap/connection.h"
#include "bootstrap/failure_watch.h"
#include "bootstrap/member_machine.h"
#include "bootstrap/rendezvous.h"

namespace ronde {
namespace {

constexpr int kLongestPoll = 60'000;
constexpr Milliseconds kStopPoll{50};  // how often it is asked whether to stop
constexpr uint32_t kSocketKey = 0;
constexpr uint32_t kWakeKey = 1;

// Connection and machine under one mutex, and an epoll descriptor that any thread can wait on: the one in exchange(),
// or the event loop's.
class MemberSource final : public EventSource {
 public:
  MemberSource(Connection connection, MemberMachine machine, Fd epoll, Fd wakeup, const RendezvousOptions& options)
      : stop_(options.stop),
        why_stopped_(options.why_stopped),
        connection_(std::move(connection)),
        machine_(std::move(machine)),
        epoll_(std::move(epoll)),
        wakeup_(std::move(wakeup)) {
    control(EPOLL_CTL_ADD, connection_.fd(), kSocketKey, EPOLLIN);
    control(EPOLL_CTL_ADD, wakeup_.get(), kWakeKey, EPOLLIN);
  }
  ~MemberSource() override { connection_.drain(); }
  MemberSource(const MemberSource&) = delete;
  MemberSource& operator=(const MemberSource&) = delete;

  [[nodiscard]] int descriptor() const override { return epoll_.get(); }

  bool advance(Time now) override {
    std::unique_lock lock(mutex_);
    work(now);
    return tell_failure(lock);
  }

  [[nodiscard]] Deadline next_deadline() const override {
    const std::scoped_lock lock(mutex_);
    return machine_.next_deadline().earlier(connection_.next_check());
  }

  // Waits until the root has said yes or no. Nothing: it closed the connection without a word.
  std::optional<Status> await_welcome(Deadline deadline) {
    std::unique_lock lock(mutex_);
    work(Clock::now());
    while (!machine_.joined()) {
      if (machine_.ended() && !refused_) return std::nullopt;
      if (machine_.failure()) return *machine_.failure();
      if (stopped()) {
        report_abort();
        return Status(rondeAborted, "it was aborted");
      }
      if (deadline.passed(Clock::now()))
        return Status(rondeTimedOut, "the meeting point took the connection, but does not answer");
      wait(lock, deadline);
      work(Clock::now());
    }
    return Status();
  }

  Result<std::vector<Bytes>> exchange(std::string_view what, ByteView mine, Deadline deadline) {
    std::unique_lock lock(mutex_);
    work(Clock::now());
    if (stopped()) report_abort();  // before: what this rank hands in may be wrong because it was stopped
    machine_.begin_exchange(what, mine, Clock::now(), deadline);
    work(Clock::now());
    while (!machine_.exchange_ended()) {
      if (stopped()) report_abort();
      wait(lock, machine_.next_deadline());
      work(Clock::now());
    }
    Result<std::vector<Bytes>> result = machine_.take_result();
    tell_failure(lock);
    return result;
  }

  void report(const Status& why) {
    tell([&] { machine_.report(why); });
  }

  void leave() {
    tell([&] { machine_.leave(); });
    watch_.cancel();
  }

  FailureWatch& failure_watch() { return watch_; }

 private:
  void report_abort() {
    const Status why = why_stopped_ ? why_stopped_() : Status();
    const bool aborted = why.ok() || why.code() == rondeAborted;
    machine_.report(aborted ? Status(rondeRemoteError, "aborted the start-up") : why);
    work(Clock::now());
  }
  [[nodiscard]] bool stopped() const { return stop_ != nullptr && stop_->is_set(); }

  // From any thread.
  template <typename Change>
  void tell(Change change) {
    std::unique_lock lock(mutex_);
    change();
    work(Clock::now());
    wake();
    tell_failure(lock);  // the loop may have let go of a source whose connection has ended
  }

  void control(int operation, int fd, uint32_t key, uint32_t events) const {
    epoll_event event{};
    event.events = events;
    event.data.u32 = key;
    epoll_ctl(epoll_.get(), operation, fd, &event);
  }

  void wake() const {
    const uint64_t one = 1;
    [[maybe_unused]] const auto written = retry_interrupted([&] { return ::write(wakeup_.get(), &one, sizeof one); });
  }

  // With the mutex: everything that can be done without blocking.
  void work(Time now) {
    uint64_t ignored = 0;
    [[maybe_unused]] const auto got =
        retry_interrupted([&] { return ::read(wakeup_.get(), &ignored, sizeof ignored); });
    if (!machine_.ended()) read(now);
    if (const auto silent = machine_.ended() ? std::nullopt : connection_.check(now)) end_connection(*silent);
    machine_.advance(now);
    for (const std::string& warning : machine_.take_warnings()) log::warn("{}", warning);
    for (SharedMessage& message : machine_.take_messages()) connection_.send(std::move(message));
    connection_.flush(now);
    if (machine_.has_left() && !connection_.has_unsent() && !std::exchange(said_goodbye_, true))
      connection_.finish_sending();
    if (!machine_.ended() && connection_.has_unsent() != watches_output_) {
      watches_output_ = !watches_output_;
      control(EPOLL_CTL_MOD, connection_.fd(), kSocketKey, watches_output_ ? EPOLLIN | EPOLLOUT : EPOLLIN);
    }
  }

  void read(Time now) {
    std::vector<Bytes> messages;
    const std::optional<Status> end = connection_.receive(messages);
    for (const Bytes& message : messages) machine_.received(message, now);
    refused_ = refused_ || machine_.failure().has_value();
    if (end) end_connection(*end);
  }

  void end_connection(const Status& how) {
    control(EPOLL_CTL_DEL, connection_.fd(), kSocketKey, 0);  // else it stays readable for ever
    machine_.closed(how);
  }

  // Entered with the lock. False when nothing more will come.
  bool tell_failure(std::unique_lock<std::mutex>& lock) {
    const std::optional<Status> failure = machine_.failure();
    const bool goes_on = !machine_.ended();
    lock.unlock();
    if (failure) watch_.fire(*failure);
    return goes_on;
  }

  // Releases the lock while it sleeps: report() and leave() come from other threads.
  void wait(std::unique_lock<std::mutex>& lock, Deadline deadline) {
    pollfd polled{epoll_.get(), POLLIN, 0};
    const Time now = Clock::now();
    if (stop_ != nullptr) deadline = deadline.earlier(Deadline::at(now + kStopPoll));
    const int timeout = deadline.earlier(connection_.next_check()).poll_timeout(now, kLongestPoll);
    lock.unlock();
    ::poll(&polled, 1, timeout);  // interrupted or not: the caller looks again
    lock.lock();
  }

  const OnceFlag* const stop_;
  const std::function<Status()> why_stopped_;
  mutable std::mutex mutex_;
  Connection connection_;
  MemberMachine machine_;
  const Fd epoll_;
  const Fd wakeup_;
  bool watches_output_ = false;
  bool said_goodbye_ = false;
  bool refused_ = false;  // a failure was told, not concluded from the connection's end
  FailureWatch watch_;
};

class RemoteRendezvous final : public Rendezvous {
 public:
  RemoteRendezvous(EventLoop& loop, std::shared_ptr<MemberSource> source) : loop_(loop), source_(std::move(source)) {}
  ~RemoteRendezvous() override {
    if (watching_) loop_.remove(*source_);
  }
  RemoteRendezvous(const RemoteRendezvous&) = delete;
  RemoteRendezvous& operator=(const RemoteRendezvous&) = delete;

  Result<std::vector<Bytes>> exchange(std::string_view what, ByteView mine, Deadline deadline) override {
    if (mine.size() > kMostGiftBytes)
      return Status(rondeInternalError,
                    fmt::format("{}: {} bytes are more than the {} of an exchange", what, mine.size(), kMostGiftBytes));
    // One thread at a time serves the connection.
    if (watching_) loop_.remove(*source_);
    Result<std::vector<Bytes>> result = source_->exchange(what, mine, deadline);
    if (watching_) RONDE_TRY(loop_.add(source_));
    return result;
  }

  void watch(std::function<void(Status)> failed) override {
    source_->failure_watch().set(std::move(failed));
    if (std::exchange(watching_, true)) return;
    if (const Status added = loop_.add(source_); !added.ok()) source_->failure_watch().fire(added);
  }

  void report(const Status& why) override { source_->report(why); }
  void leave() override { source_->leave(); }
  [[nodiscard]] bool within_process() const override { return false; }

 private:
  EventLoop& loop_;
  std::shared_ptr<MemberSource> source_;
  bool watching_ = false;
};

constexpr int kClosedLimit = 20;  // a full acceptor closes connections; the root does not
constexpr Milliseconds kClosedAgain{150};
constexpr Milliseconds kLastWord{500};  // for a rank whose start is given up to tell the others

void pause(Milliseconds wait) {
  const Deadline until = Deadline::after(wait);
  while (!until.passed()) ::poll(nullptr, 0, until.poll_timeout(Clock::now(), kLongestPoll));
}

std::vector<SocketAddress> addresses_of(const UniqueId& id) {
  std::vector<SocketAddress> addresses;
  for (const SocketAddress& address : id.addresses) addresses.push_back(address.with_port(id.port));
  return addresses;
}

// Ids that are known beforehand, from the environment of a launcher.
bool made_by_rank_0(const UniqueId& id) { return id.retry_refused; }

std::string_view unreachable_hint(const UniqueId& id) {
  if (made_by_rank_0(id))
    return "Either rank 0 has not started, or it has ended (perhaps because another rank failed), or it has another "
           "secret "
           "(RONDE_SECRET_FILE), or no address leads there (MASTER_ADDR, RONDE_PORT, RONDE_SOCKET_IFNAME, "
           "RONDE_SOCKET_FAMILY)";
  return "Either the process that made the id has ended, or the id was used already (it is good for one communicator), "
         "or no "
         "address of it leads there (RONDE_SOCKET_IFNAME, RONDE_SOCKET_FAMILY)";
}

Result<std::shared_ptr<MemberSource>> make_source(ProvedStream stream, const JoinMessage& join_message,
                                                  const UniqueId& id, const RendezvousOptions& options) {
  Fd epoll = Fd::make([] { return ::epoll_create1(EPOLL_CLOEXEC); });
  if (!epoll.valid()) return system_error("no epoll descriptor for the rendezvous", errno);
  Fd wakeup = Fd::make([] { return ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK); });
  if (!wakeup.valid()) return system_error("no event descriptor for the rendezvous", errno);
  Connection connection(std::move(stream), Direction::to_server, most_bytes_to_member(join_message.nranks),
                        options.silent_timeout);
  MemberMachine machine(join_message, connection.peer(), options.missing_warning, made_by_rank_0(id) ? "rank 0" : "");
  return std::make_shared<MemberSource>(std::move(connection), std::move(machine), std::move(epoll), std::move(wakeup),
                                        options);
}

}  // namespace

Result<std::unique_ptr<Rendezvous>> join(EventLoop& loop, const UniqueId& id, int nranks, int rank,
                                         const RendezvousOptions& options, Deadline deadline) {
  const JoinMessage message{static_cast<uint32_t>(nranks), static_cast<uint32_t>(rank),
                            ProcessIdentity::of_this_process()};
  Claim claim;
  claim.job = id.job;
  claim.role = Role::rendezvous;
  claim.client_rank = message.rank;
  claim.server_rank = kAnyRank;

  const std::string whom = made_by_rank_0(id) ? "rank 0, which holds the meeting point," : "the meeting point";
  DialOptions dialling{deadline, id.retry_refused, options.stop, nullptr};
  dialling.still_waits = [&](std::chrono::seconds waited, const std::string& reasons) {
    log::warn("rank {} has waited {} s in start-up to reach {} {}", rank, waited.count(), whom, reasons);
  };
  DialOptions last_word = dialling;
  last_word.stop = nullptr;

  for (int attempt = 0;; ++attempt) {
    Result<ProvedStream> stream = dial(addresses_of(id), id.secret, claim, whom, dialling);
    // The others wait for this rank: they have to learn that it will not come.
    if (!stream.ok() && options.stop != nullptr && options.stop->is_set()) {
      last_word.deadline = deadline.earlier(Deadline::after(kLastWord));
      stream = dial(addresses_of(id), id.secret, claim, whom, last_word);
    }
    if (!stream.ok())
      return Status(stream.status().code(),
                    fmt::format("rank {} cannot join: {}. {}", rank, stream.status().message(), unreachable_hint(id)));
    RONDE_ASSIGN(std::shared_ptr<MemberSource> source, make_source(std::move(*stream), message, id, options));
    const std::optional<Status> answer = source->await_welcome(deadline);
    if (answer && answer->ok()) return std::unique_ptr<Rendezvous>(std::make_unique<RemoteRendezvous>(loop, source));
    if (answer) return Status(answer->code(), fmt::format("rank {} cannot join: {}", rank, answer->message()));
    if (attempt >= kClosedLimit)
      return Status(rondePeerUnreachable,
                    fmt::format("rank {} cannot join: the meeting point closes each connection", rank));
    pause(kClosedAgain);
  }
}

}  // namespace ronde
