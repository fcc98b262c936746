// The part of authenticated_stream.h that dials.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <poll.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <set>

#include "base/authenticated_stream.h"
#include "base/retry.h"

namespace ronde {
namespace {

constexpr Milliseconds kStagger{250};
constexpr Milliseconds kRefusedAgain{100};
constexpr Milliseconds kSilentLimit{9'000};  // five packets of the kernel's schedule: 0, 1, 3, 7 s, and a wait
// An acceptor that is full closes connections before their proof: that is no refusal until it has happened often.
constexpr int kClosedLimit = 20;
constexpr Milliseconds kClosedAgain{150};
constexpr Milliseconds kStopPoll{50};  // how often it is asked whether to stop
constexpr std::chrono::seconds kSayEvery{10};
constexpr int kLongestPoll = 60'000;

// One address and the connection on its way to it.
struct Attempt {
  enum class State {
    waiting,  // to start, or to start again
    connecting,
    proving,   // hello was sent
    holding,   // the answer is right; another attempt is entering
    entering,  // the own proof was sent
    admitted,
    failed
  };

  SocketAddress address;
  State state = State::waiting;
  Time next = Time::max();  // waiting: when to start; connecting: when to give up
  Fd fd;
  std::optional<ProofClient> proof;
  size_t answered = 0;
  int times_closed = 0;
  std::string reason = "not tried";
};

std::string reason_text(int error_number) {
  char buffer[128];
  return strerror_r(error_number, buffer, sizeof buffer);
}

class Dialler {
 public:
  Dialler(const std::vector<SocketAddress>& addresses, const Secret& secret, const Claim& claim,
          const DialOptions& options)
      : secret_(secret), claim_(claim), options_(options) {
    Time start = Clock::now();
    for (const SocketAddress& address : addresses) {
      Attempt& attempt = attempts_.emplace_back();
      attempt.address = address;
      attempt.next = start;
      start += kStagger;
    }
  }

  // True once a connection is proved and taken in; false when every address has failed or the deadline has passed.
  Result<bool> run() {
    const Time begun = Clock::now();
    Time next_word = options_.still_waits ? begun + kSayEvery : Time::max();
    while (true) {
      const Time now = Clock::now();
      if (now >= next_word) {
        options_.still_waits(std::chrono::duration_cast<std::chrono::seconds>(now - begun), reasons());
        next_word = now + kSayEvery;
      }
      for (Attempt& attempt : attempts_) RONDE_TRY(follow_clock(attempt, now));
      if (all_failed() || options_.deadline.passed(now) || stopped()) return false;
      const Deadline next = options_.deadline.earlier(Deadline::at(next_word));
      const bool may_be_stopped = options_.stop != nullptr || options_.stop_too != nullptr;
      wait(may_be_stopped ? next.earlier(Deadline::at(now + kStopPoll)) : next, now);
      for (size_t i = 0; i < attempts_.size(); ++i) {
        if (!ready_[i]) continue;
        follow_connection(attempts_[i]);
        if (attempts_[i].state == Attempt::State::admitted) {
          winner_ = &attempts_[i];
          return true;
        }
      }
    }
  }

  ProvedStream take_winner() {
    configure_tcp(winner_->fd.get());
    return {std::move(winner_->fd), claim_, winner_->proof->session_key()};
  }

  [[nodiscard]] std::string reasons() const {
    std::vector<std::string> texts;
    for (const Attempt& attempt : attempts_)
      texts.push_back(fmt::format("{}: {}", attempt.address.text(), attempt.reason));
    return fmt::format("{}", fmt::join(texts, "; "));
  }
  [[nodiscard]] bool all_failed() const {
    return std::all_of(attempts_.begin(), attempts_.end(),
                       [](const Attempt& attempt) { return attempt.state == Attempt::State::failed; });
  }

 private:
  [[nodiscard]] bool stopped() const {
    return (options_.stop != nullptr && options_.stop->is_set()) ||
           (options_.stop_too != nullptr && options_.stop_too->is_set());
  }

  void fail(Attempt& attempt, std::string reason) {
    attempt.state = Attempt::State::failed;
    attempt.reason = std::move(reason);
    attempt.fd.reset();
    enter_next();
    // Nothing is on its way any more: no reason to keep the next address waiting.
    const bool idle =
        std::none_of(attempts_.begin(), attempts_.end(), [](const Attempt& other) { return other.fd.valid(); });
    const auto first_waiting = std::find_if(attempts_.begin(), attempts_.end(), [](const Attempt& other) {
      return other.state == Attempt::State::waiting;
    });
    if (idle && first_waiting != attempts_.end()) first_waiting->next = std::min(first_waiting->next, Clock::now());
  }

  void try_again(Attempt& attempt, Milliseconds wait, std::string reason) {
    attempt.state = Attempt::State::waiting;
    attempt.next = Clock::now() + wait;
    attempt.reason = std::move(reason);
    attempt.fd.reset();
    enter_next();
  }

  void connecting_failed(Attempt& attempt, int error_number) {
    if (error_number == ECONNREFUSED && options_.retry_refused) {
      try_again(attempt, kRefusedAgain, reason_text(error_number));
    } else {
      fail(attempt, reason_text(error_number));
    }
  }

  void closed_during_proof(Attempt& attempt) {
    const char* const reason =
        "the other side closed the connection before the proof (another job, another secret, or another program)";
    if (++attempt.times_closed < kClosedLimit) {
      try_again(attempt, kClosedAgain, reason);
    } else {
      fail(attempt, reason);
    }
  }

  Status follow_clock(Attempt& attempt, Time now) {
    if (now < attempt.next) return {};
    if (attempt.state == Attempt::State::connecting) fail(attempt, "no answer");
    if (attempt.state == Attempt::State::entering) closed_during_proof(attempt);
    if (attempt.state != Attempt::State::waiting) return {};

    Nonce nonce;
    RONDE_TRY(random_bytes(nonce));
    attempt.proof.emplace(secret_, claim_, nonce);
    attempt.answered = 0;
    Result<Fd> fd = start_connect(attempt.address);
    if (!fd.ok()) {
      if (errno == EMFILE) return fd.status();  // no other address would do
      connecting_failed(attempt, errno);
      return {};
    }
    attempt.fd = std::move(*fd);
    attempt.state = Attempt::State::connecting;
    attempt.reason = "no answer";
    attempt.next = now + kSilentLimit;
    return {};
  }

  void wait(Deadline deadline, Time now) {
    std::vector<pollfd> polled;
    for (const Attempt& attempt : attempts_) {
      const bool connecting = attempt.state == Attempt::State::connecting;
      // poll passes over negative descriptors.
      const bool holding = attempt.state == Attempt::State::holding;
      polled.push_back({holding ? -1 : attempt.fd.get(), static_cast<short>(connecting ? POLLOUT : POLLIN), 0});
      if (connecting || attempt.state == Attempt::State::waiting || attempt.state == Attempt::State::entering)
        deadline = deadline.earlier(Deadline::at(attempt.next));
    }
    // Interrupted or not: the clock is looked at again.
    const int count = ::poll(polled.data(), polled.size(), deadline.poll_timeout(now, kLongestPoll));
    ready_.assign(attempts_.size(), false);
    for (size_t i = 0; count > 0 && i < polled.size(); ++i) ready_[i] = polled[i].fd >= 0 && polled[i].revents != 0;
  }

  void follow_connection(Attempt& attempt) {
    if (attempt.state == Attempt::State::connecting) {
      if (const int error = connect_error(attempt.fd.get()); error != 0) return connecting_failed(attempt, error);
      attempt.state = Attempt::State::proving;
      attempt.next = Time::max();
      attempt.reason = "connected, but no answer to the proof";
      if (!send_small(attempt.fd.get(), attempt.proof->hello())) closed_during_proof(attempt);
      return;
    }
    if (attempt.state == Attempt::State::proving) read_answer(attempt);
    if (attempt.state == Attempt::State::entering) read_admission(attempt);
  }

  void read_answer(Attempt& attempt) {
    std::array<std::byte, kAnswerBytes> buffer;
    const ssize_t got =
        retry_interrupted([&] { return ::recv(attempt.fd.get(), buffer.data(), kAnswerBytes - attempt.answered, 0); });
    if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return;
    if (got <= 0) return closed_during_proof(attempt);
    attempt.answered += attempt.proof->feed(ByteView(buffer).first(static_cast<size_t>(got)));
    if (attempt.proof->state() == ProofState::refused) return fail(attempt, attempt.proof->refusal());
    if (attempt.proof->state() != ProofState::proved) return;
    attempt.state = Attempt::State::holding;
    enter_next();
  }

  // One at a time: of two connections that are both taken in the other side might keep the one that is dropped here.
  void enter_next() {
    Attempt* next = nullptr;
    for (Attempt& attempt : attempts_) {
      if (attempt.state == Attempt::State::entering || attempt.state == Attempt::State::admitted) return;
      if (attempt.state == Attempt::State::holding && next == nullptr) next = &attempt;
    }
    if (next == nullptr) return;
    next->state = Attempt::State::entering;
    next->next = Clock::now() + kSilentLimit;
    if (!send_small(next->fd.get(), next->proof->proof())) closed_during_proof(*next);
  }

  void read_admission(Attempt& attempt) {
    std::byte word{};
    const ssize_t got = retry_interrupted([&] { return ::recv(attempt.fd.get(), &word, 1, 0); });
    if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return;
    if (got != 1 || word != kAdmitted) return closed_during_proof(attempt);
    attempt.state = Attempt::State::admitted;
  }

  // The buffer of a new connection takes the few bytes of a proof at once, or the connection is broken.
  static bool send_small(int fd, ByteView bytes) {
    return retry_interrupted([&] { return ::send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL); }) ==
           static_cast<ssize_t>(bytes.size());
  }

  Secret secret_;
  Claim claim_;
  const DialOptions& options_;
  std::vector<Attempt> attempts_;
  std::vector<bool> ready_;
  Attempt* winner_ = nullptr;
};

std::string families(const std::vector<SocketAddress>& addresses) {
  std::set<int> found;
  for (const SocketAddress& address : addresses) found.insert(address.family());
  if (found.size() == 2) return "both";
  return found.contains(AF_INET) ? "IPv4" : "IPv6";
}

// " (the other side has IPv6 addresses only, this host IPv4 only)" where that is what is wrong.
std::string family_hint(const std::vector<SocketAddress>& addresses) {
  const Result<std::vector<SocketAddress>> own = local_addresses("", 0);
  if (!own.ok() || addresses.empty()) return "";
  const std::string theirs = families(addresses);
  const std::string ours = families(*own);
  if (theirs == "both" || ours == "both" || theirs == ours) return "";
  return fmt::format(" (the other side has {} addresses only, this host {} only)", theirs, ours);
}

}  // namespace

Result<ProvedStream> dial(const std::vector<SocketAddress>& addresses, const Secret& secret, const Claim& claim,
                          std::string_view whom, const DialOptions& options) {
  const Time start = Clock::now();
  Dialler dialler(addresses, secret, claim, options);
  RONDE_ASSIGN(const bool proved, dialler.run());
  if (proved) return dialler.take_winner();
  const bool all_failed = dialler.all_failed();
  const double waited = std::chrono::duration<double>(Clock::now() - start).count();
  return Status(all_failed ? rondePeerUnreachable : rondeTimedOut,
                fmt::format("cannot reach {} after {:.1f} s: {}{}", whom, waited,
                            addresses.empty() ? "it has told no address" : dialler.reasons(), family_hint(addresses)));
}

}  // namespace ronde
