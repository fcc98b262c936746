#include "doctor/listen.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <poll.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <vector>

#include "api/options.h"
#include "base/retry.h"
#include "base/socket.h"
#include "bootstrap/rendezvous.h"
#include "doctor/checks.h"
#include "doctor/reach.h"

namespace ronde::doctor {
namespace {

constexpr size_t kAtOnce = 16;
constexpr int kMostConnections = 1000;
constexpr Milliseconds kForEach{5'000};
constexpr Milliseconds kStarvedWait{100};
constexpr int kLongestPoll = 60'000;

std::string own_address(int fd) {
  sockaddr_storage storage{};
  socklen_t size = sizeof storage;
  if (getsockname(fd, reinterpret_cast<sockaddr*>(&storage), &size) != 0) return "an unknown address";
  const auto address = SocketAddress::from_system(reinterpret_cast<sockaddr*>(&storage));
  return address ? address_text(*address) : "an unknown address";
}

// A connection that somebody has made.
class Visitor {
 public:
  explicit Visitor(Fd fd) : fd_(std::move(fd)) { configure_tcp(fd_.get()); }

  [[nodiscard]] int fd() const { return fd_.get(); }
  [[nodiscard]] Deadline deadline() const { return deadline_; }
  [[nodiscard]] bool has_greeted() const { return greetings_ > 0; }
  [[nodiscard]] std::string text() const {
    return fmt::format("{} reaches this machine at {}", peer_text(fd_.get()), own_address(fd_.get()));
  }

  // Reads what is there and answers; false when the connection has ended or is to be ended.
  bool advance() {
    const ssize_t got =
        retry_interrupted([&] { return ::recv(fd_.get(), bytes_.data() + size_, bytes_.size() - size_, 0); });
    if (got < 0) return errno == EAGAIN;
    if (got == 0) return false;
    size_ += static_cast<size_t>(got);
    if (std::string_view(bytes_.data(), size_) != kGreeting.substr(0, size_)) return false;
    if (size_ < bytes_.size()) return true;
    size_ = 0;
    // A buffer that is empty takes it at once; who does not read is let go.
    const ssize_t sent = ::send(fd_.get(), kGreeting.data(), kGreeting.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent != static_cast<ssize_t>(kGreeting.size())) return false;
    return ++greetings_ < kGreetings;
  }

 private:
  Fd fd_;
  Deadline deadline_ = Deadline::after(kForEach);
  std::array<char, kGreeting.size()> bytes_{};
  size_t size_ = 0;
  int greetings_ = 0;
};

class Waiting {
 public:
  Waiting(std::vector<Listener> listeners, Deadline deadline, const std::function<void(const std::string&)>& say)
      : listeners_(std::move(listeners)), deadline_(deadline), say_(say) {}

  Visits run() {
    while (!deadline_.passed() && (accepted_ < kMostConnections || !visitors_.empty())) {
      wait();
      accept_all();
      std::erase_if(visitors_, [this](Visitor& visitor) {
        const bool is_new = !visitor.has_greeted();
        const bool stays = visitor.advance();
        if (is_new && visitor.has_greeted()) {
          ++visits_.reached;
          say_(visitor.text());
        }
        if (stays && !visitor.deadline().passed()) return false;
        if (!visitor.has_greeted()) ++visits_.strangers;
        return true;
      });
    }
    return visits_;
  }

 private:
  [[nodiscard]] bool has_room() const { return visitors_.size() < kAtOnce && accepted_ < kMostConnections; }

  void wait() {
    std::vector<pollfd> polled;
    Deadline deadline = deadline_;
    for (const Visitor& visitor : visitors_) {
      polled.push_back({visitor.fd(), POLLIN, 0});
      deadline = deadline.earlier(visitor.deadline());
    }
    // Those who find no room wait in the backlog.
    const bool takes = has_room() && !starved_;
    for (const Listener& listener : listeners_) polled.push_back({takes ? listener.fd.get() : -1, POLLIN, 0});
    if (starved_) deadline = deadline.earlier(Deadline::after(kStarvedWait));
    ::poll(polled.data(), polled.size(), deadline.poll_timeout(Clock::now(), kLongestPoll));
  }

  void accept_all() {
    starved_ = false;
    for (const Listener& listener : listeners_) {
      while (has_room()) {
        Fd fd(::accept4(listener.fd.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
        starved_ = !fd.valid() && errno != EAGAIN && errno != EINTR && errno != ECONNABORTED;
        if (!fd.valid()) break;
        ++accepted_;
        visitors_.emplace_back(std::move(fd));
      }
    }
  }

  std::vector<Listener> listeners_;
  Deadline deadline_;
  const std::function<void(const std::string&)>& say_;
  std::vector<Visitor> visitors_;
  bool starved_ = false;  // of descriptors or memory: a listener would be readable without end
  int accepted_ = 0;
  Visits visits_;
};

}  // namespace

Result<Visits> listen(const Settings& settings, uint16_t port, Milliseconds limit,
                      const std::function<void(const std::string&)>& say) {
  const RendezvousOptions options = api::rendezvous_options(settings);
  RONDE_ASSIGN(const auto addresses, local_addresses(options.socket_ifname, options.socket_family));
  auto listeners = listen_for_ranks(options, port != 0 ? port : options.port);
  if (!listeners.ok()) {
    const std::string owner = port != 0 ? owner_of_port(port) : "";
    return Status(listeners.status().code(),
                  listeners.status().message() + (owner.empty() ? "" : fmt::format("; {} has it", owner)));
  }
  std::vector<std::string> texts;
  for (const SocketAddress& address : addresses) texts.push_back(address.with_port(listeners->front().port).text());
  say("On each other machine run:");
  say(fmt::format("  ronde-doctor --connect {}", fmt::join(texts, ",")));
  say(fmt::format("Waiting for them, for {} s at most (--timeout); Ctrl-C ends it",
                  std::chrono::ceil<std::chrono::seconds>(limit).count()));
  return Waiting(std::move(*listeners), Deadline::after(limit), say).run();
}

}  // namespace ronde::doctor
