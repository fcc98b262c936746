#include "transports/shm/handover.h"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>

#include "base/log.h"
#include "base/retry.h"
#include "base/unix_socket.h"

namespace ronde {
namespace {

constexpr int kStrangersAtMost = 64;
constexpr Milliseconds kYoung{1000};  // a connection that has this long to prove itself does not give way to others
constexpr int kPollMs = 50;

enum class Step { more, finished, failed };

// What comes with the descriptors: of the segment, the doorbell, the arena if it has a token, the black box for some.
struct Tokens {
  Nonce segment{};
  Nonce arena{};
};
constexpr Nonce kNoArena{};

// Reads up to `size` bytes; 0: nothing yet, -1: closed or broken.
ssize_t read_some(int socket, std::byte* target, size_t size) {
  const ssize_t received = retry_interrupted([&] { return ::recv(socket, target, size, 0); });
  if (received == 0) return -1;
  return received < 0 && errno == EAGAIN ? 0 : received;
}

// Of this process or of the machine: waiting would not help.
bool is_shortage(int error) { return error == EMFILE || error == ENFILE || error == ENOBUFS || error == ENOMEM; }
Status shortage(int error) { return system_error("cannot exchange memory with a rank of this host", error); }

bool write_all(int socket, ByteView bytes) {  // a few dozen bytes on a fresh Unix socket: they always fit
  const ssize_t sent = retry_interrupted([&] { return ::send(socket, bytes.data(), bytes.size(), MSG_NOSIGNAL); });
  return sent == static_cast<ssize_t>(bytes.size());
}

// Our connection to one candidate: prove, then hand over.
class Outgoing {
 public:
  Outgoing(const Offer& offer, const Candidate& candidate, const Nonce& nonce)
      : offer_(offer),
        candidate_(candidate),
        client_(offer.secret,
                {.job = offer.job,
                 .role = Role::segment,
                 .client_rank = static_cast<uint32_t>(offer.rank),
                 .server_rank = static_cast<uint32_t>(candidate.rank)},
                nonce) {}

  [[nodiscard]] int rank() const { return candidate_.rank; }
  [[nodiscard]] int fd() const { return socket_.get(); }

  // An error: a shortage.
  Result<Step> advance() {
    if (!socket_.valid()) {
      const ConnectOutcome outcome = connect_abstract(candidate_.socket_name, socket_);
      if (outcome == ConnectOutcome::busy) return Step::more;
      if (outcome == ConnectOutcome::refused && is_shortage(errno)) return shortage(errno);
      if (outcome == ConnectOutcome::refused || !write_all(socket_.get(), client_.hello())) return Step::failed;
    }
    std::byte buffer[kAnswerBytes];
    while (client_.state() == ProofState::more) {
      const ssize_t received = read_some(socket_.get(), buffer, kAnswerBytes - answer_bytes_);
      if (received <= 0) return received == 0 ? Step::more : Step::failed;
      answer_bytes_ += static_cast<size_t>(received);
      client_.feed({buffer, static_cast<size_t>(received)});
    }
    if (client_.state() == ProofState::refused) return Step::failed;
    return write_all(socket_.get(), client_.proof()) && send_memory() ? Step::finished : Step::failed;
  }

 private:
  [[nodiscard]] bool send_memory() const {
    const Tokens tokens{offer_.token, offer_.arena >= 0 ? offer_.arena_token : kNoArena};
    std::vector<int> descriptors{offer_.memfd, offer_.event_fd};
    if (offer_.arena >= 0) descriptors.push_back(offer_.arena);
    if (candidate_.gets_black_box && offer_.black_box >= 0) descriptors.push_back(offer_.black_box);
    return send_with_descriptors(socket_.get(), std::as_bytes(std::span(&tokens, 1)), descriptors);
  }

  const Offer& offer_;
  const Candidate& candidate_;
  ProofClient client_;
  size_t answer_bytes_ = 0;
  Fd socket_;
};

// A connection that somebody made to us: check the proof, then take.
class Incoming {
 public:
  Incoming(const Offer& offer, Fd socket, const Nonce& nonce)
      : server_(offer.secret, offer.job, nonce), own_rank_(offer.rank), socket_(std::move(socket)) {}

  [[nodiscard]] int fd() const { return socket_.get(); }
  [[nodiscard]] bool is_young() const { return Clock::now() - since_ < kYoung; }
  [[nodiscard]] Received take() { return std::move(received_); }

  // An error: a shortage.
  Result<Step> advance() {
    std::byte buffer[kHelloBytes + kProofBytes];
    while (server_.state() == ProofState::more) {
      // Never beyond the proof: the bytes after it carry descriptors.
      const ssize_t received = read_some(socket_.get(), buffer, sizeof buffer - proof_bytes_);
      if (received <= 0) return received == 0 ? Step::more : Step::failed;
      proof_bytes_ += static_cast<size_t>(received);
      server_.feed({buffer, static_cast<size_t>(received)});
      const ByteView answer = server_.take_answer();
      if (!answer.empty() && !write_all(socket_.get(), answer)) return Step::failed;
    }
    const Claim& claim = server_.claim();
    const bool meant = claim.role == Role::segment && claim.server_rank == static_cast<uint32_t>(own_rank_);
    if (server_.state() == ProofState::refused || !meant) return Step::failed;
    Tokens tokens;
    std::array<Fd, 4> descriptors;
    switch (receive_with_descriptors(socket_.get(), std::as_writable_bytes(std::span(&tokens, 1)), descriptors, 2)) {
      case ReceiveOutcome::not_yet: return Step::more;
      case ReceiveOutcome::refused: return Step::failed;
      case ReceiveOutcome::full: return shortage(EMFILE);
      case ReceiveOutcome::received: break;
    }
    received_.rank = static_cast<int>(claim.client_rank);
    received_.token = tokens.segment;
    received_.arena_token = tokens.arena;
    received_.memfd = std::move(descriptors[0]);
    received_.event = std::move(descriptors[1]);
    const bool with_arena = tokens.arena != kNoArena;
    if (with_arena) received_.arena = std::move(descriptors[2]);
    received_.black_box = std::move(descriptors[with_arena ? 3 : 2]);
    return Step::finished;
  }

 private:
  ProofServer server_;
  int own_rank_;
  size_t proof_bytes_ = 0;
  Fd socket_;
  Time since_ = Clock::now();
  Received received_;
};

class Handover {
 public:
  Handover(const Offer& offer, int listener) : offer_(offer), listener_(listener) {}

  Status start(const std::vector<Candidate>& candidates) {
    for (const Candidate& candidate : candidates) {
      Nonce nonce{};
      RONDE_TRY(random_bytes(nonce));
      outgoing_.push_back(std::make_unique<Outgoing>(offer_, candidate, nonce));
      awaited_.push_back(candidate.rank);
    }
    return {};
  }

  Status run(const OnceFlag* stop, Deadline deadline) {
    while ((!outgoing_.empty() || !awaited_.empty()) && !deadline.passed()) {
      if (stop != nullptr && stop->is_set()) return {};
      advance_outgoing();
      accept_all();
      advance_incoming();
      RONDE_TRY(problem_);
      if (!outgoing_.empty() || !awaited_.empty()) wait(deadline);
    }
    for (const int rank : awaited_) {
      log::warn(
          "no shared memory with rank {}: it was not handed over in time; perhaps that rank was "
          "held up{}",
          rank,
          incoming_.empty() ? ""
                            : fmt::format(", or programs that do not belong to the job keep {} connections to this "
                                          "one open",
                                          incoming_.size()));
    }
    return {};
  }

  std::vector<Received> take() { return std::move(received_); }

 private:
  void advance_outgoing() {
    std::erase_if(outgoing_, [this](const std::unique_ptr<Outgoing>& connection) {
      const Result<Step> step = connection->advance();
      if (!step.ok()) problem_ = step.status();
      if (step.ok() && *step == Step::failed) std::erase(awaited_, connection->rank());
      return !step.ok() || *step != Step::more;
    });
  }

  void accept_all() {
    for (;;) {
      waits_for_place_ = false;
      if (incoming_.size() >= awaited_.size() + kStrangersAtMost) {
        waits_for_place_ = incoming_.front()->is_young();  // the others wait in the backlog
        if (waits_for_place_) return;
        incoming_.erase(incoming_.begin());
      }
      Fd socket = Fd::make([&] { return ::accept4(listener_, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC); });
      if (!socket.valid() && is_shortage(errno)) problem_ = shortage(errno);
      if (!socket.valid()) return;
      Nonce nonce{};
      if (const Status random = random_bytes(nonce); !random.ok()) {
        problem_ = random;
        return;
      }
      incoming_.push_back(std::make_unique<Incoming>(offer_, std::move(socket), nonce));
    }
  }

  void advance_incoming() {
    std::erase_if(incoming_, [this](const std::unique_ptr<Incoming>& connection) {
      const Result<Step> step = connection->advance();
      if (!step.ok()) problem_ = step.status();
      if (step.ok() && *step == Step::finished) {
        Received received = connection->take();
        if (std::erase(awaited_, received.rank) > 0) received_.push_back(std::move(received));
      }
      return !step.ok() || *step != Step::more;
    });
  }

  void wait(Deadline deadline) {
    std::vector<pollfd> fds{{waits_for_place_ ? -1 : listener_, POLLIN, 0}};
    bool retry_soon = false;
    for (const auto& connection : outgoing_) {
      if (connection->fd() >= 0) fds.push_back({connection->fd(), POLLIN, 0});
      retry_soon |= connection->fd() < 0;
    }
    for (const auto& connection : incoming_) fds.push_back({connection->fd(), POLLIN, 0});
    ::poll(fds.data(), fds.size(), deadline.poll_timeout(Clock::now(), retry_soon ? 1 : kPollMs));
  }

  const Offer& offer_;
  int listener_;
  std::vector<std::unique_ptr<Outgoing>> outgoing_;
  std::vector<std::unique_ptr<Incoming>> incoming_;
  std::vector<int> awaited_;  // ranks whose memory has not come
  std::vector<Received> received_;
  bool waits_for_place_ = false;  // too many connections have not proved themselves yet
  Status problem_;                // with which it cannot go on: a shortage, no random numbers
};

}  // namespace

Result<std::vector<Received>> hand_over(const Offer& offer, int listener, const std::vector<Candidate>& candidates,
                                        const OnceFlag* stop, Deadline deadline) {
  Handover handover(offer, listener);
  RONDE_TRY(handover.start(candidates));
  RONDE_TRY(handover.run(stop, deadline));
  return handover.take();
}

}  // namespace ronde
