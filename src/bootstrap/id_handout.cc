#include "bootstrap/id_handout.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "base/crypto.h"
#include "base/fd.h"
#include "base/log.h"
#include "base/retry.h"
#include "base/unix_socket.h"

namespace ronde {
namespace {

constexpr Milliseconds kFirstPause{1};  // doubled each time
constexpr Milliseconds kLongestPause{20};
constexpr Milliseconds kPauseWithoutDescriptors{100};
constexpr Milliseconds kAnswerLimit{5'000};
constexpr int kLongestPoll = 60'000;

// Names of jobs are of any length, so their hash stands for them.
std::string socket_name(const std::string& job, uint64_t call) {
  const Digest hash = sha256(std::as_bytes(std::span(job)));
  std::string name = fmt::format("ronde-{}-{}-", geteuid(), call);
  for (size_t i = 0; i < 16; ++i) name += fmt::format("{:02x}", static_cast<unsigned>(hash[i]));
  return name;
}

class IdServer final : public EventSource {
 public:
  IdServer(Fd listener, Fd epoll, const UniqueId& id, int others, Deadline until)
      : listener_(std::move(listener)), epoll_(std::move(epoll)), id_(id), left_(others), until_(until) {
    listen_again();
  }

  [[nodiscard]] int descriptor() const override { return epoll_.get(); }
  bool advance(Time now) override {
    if (paused_until_.passed(now)) listen_again();
    while (left_ > 0) {
      const Fd fd =
          Fd::make([&] { return ::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK); });
      if (!fd.valid()) {
        if (errno != EAGAIN && errno != EWOULDBLOCK) pause(now);
        break;
      }
      if (!same_user(fd.get())) {
        log::info("refused to hand the id of this job to a process of another user");
        continue;
      }
      rondeUniqueId packed{};
      const Wipe wipe(packed.internal);
      id_.pack_into(packed);
      // A new socket takes an id at once, or its other end is gone.
      const auto sent = retry_interrupted([&] { return ::send(fd.get(), &packed, sizeof packed, MSG_NOSIGNAL); });
      if (sent == static_cast<ssize_t>(sizeof packed)) --left_;
    }
    return left_ > 0 && !until_.passed(now);
  }
  [[nodiscard]] Deadline next_deadline() const override { return until_.earlier(paused_until_); }

 private:
  // Without a descriptor to spare the listener stays ready, and nothing can be done about it for a while.
  void pause(Time now) {
    const int error = errno;
    epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, listener_.get(), nullptr);
    paused_until_ = Deadline::at(now + kPauseWithoutDescriptors);
    if (!std::exchange(told_error_, true))
      log::warn("{}", system_error("cannot hand out the id of this job", error).message());
  }
  void listen_again() {
    epoll_event event{};
    event.events = EPOLLIN;
    epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, listener_.get(), &event);
    paused_until_ = Deadline::never();
  }

  const Fd listener_;
  const Fd epoll_;
  const UniqueId id_;
  int left_;
  bool told_error_ = false;
  Deadline paused_until_ = Deadline::never();
  const Deadline until_;
};

void pause_until(Deadline until) {
  while (!until.passed()) ::poll(nullptr, 0, until.poll_timeout(Clock::now(), kLongestPoll));
}

// False: the other side ended before it had sent everything.
bool receive_id(int fd, rondeUniqueId& id, Deadline deadline) {
  size_t received = 0;
  while (received < sizeof id && !deadline.passed()) {
    const ssize_t got = retry_interrupted([&] { return ::recv(fd, id.internal + received, sizeof id - received, 0); });
    if (got > 0) {
      received += static_cast<size_t>(got);
    } else if (got == 0 || (errno != EAGAIN && errno != EWOULDBLOCK)) {
      return false;
    } else {
      pollfd polled{fd, POLLIN, 0};
      ::poll(&polled, 1, deadline.poll_timeout(Clock::now(), kLongestPoll));
    }
  }
  return received == sizeof id;
}

}  // namespace

Status hand_out_id(EventLoop& loop, const std::string& job, uint64_t call, const UniqueId& id, int others,
                   Milliseconds limit) {
  Result<Fd> listener = listen_abstract(socket_name(job, call), SOMAXCONN);
  if (!listener.ok()) {
    if (errno == EADDRINUSE)
      return {rondeSystemError,
              "another process is rank 0 of this job on this host already: two processes were started as rank 0, or "
              "another job has the same launcher variables (MASTER_ADDR and MASTER_PORT)"};
    return {listener.status().code(),
            fmt::format("cannot hand out the id of this job: {}", listener.status().message())};
  }
  Fd epoll = Fd::make([] { return ::epoll_create1(EPOLL_CLOEXEC); });
  if (!epoll.valid()) return system_error("no epoll descriptor to hand out the id of this job", errno);
  return loop.add(
      std::make_shared<IdServer>(std::move(*listener), std::move(epoll), id, others, Deadline::after(limit)));
}

Result<UniqueId> fetch_id(const std::string& job, uint64_t call, Deadline deadline) {
  const std::string name = socket_name(job, call);
  for (Milliseconds pause = kFirstPause;; pause = std::min(2 * pause, kLongestPause)) {
    Fd fd;
    const ConnectOutcome outcome = connect_abstract(name, fd);
    if (outcome == ConnectOutcome::connected) {
      if (!same_user(fd.get()))
        return Status(rondeInvalidUsage, "a process of another user poses as rank 0 of this job on this host");
      rondeUniqueId packed{};
      const Wipe wipe(packed.internal);
      if (receive_id(fd.get(), packed, deadline.earlier(Deadline::after(kAnswerLimit)))) {
        Result<UniqueId> id = UniqueId::unpack(packed);
        if (id.ok()) return id;
        return Status(rondeInvalidUsage, "rank 0 of this job on this host handed out " + id.status().message());
      }
    } else if (outcome == ConnectOutcome::refused && errno != ECONNREFUSED) {
      return system_error("cannot reach rank 0 of this job over a Unix socket", errno);
    }
    if (deadline.passed())
      return Status(rondeTimedOut,
                    "rank 0 of this job was not found on this host: was it started, by the same user and with the same "
                    "launcher variables (MASTER_ADDR and MASTER_PORT), and did it ask for its id?");
    pause_until(deadline.earlier(Deadline::after(pause)));
  }
}

}  // namespace ronde
