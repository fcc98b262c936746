#include "transports/tcp/tcp_intake.h"

#include "base/log.h"

namespace ronde {
namespace {

constexpr Milliseconds kStopPoll{50};  // how often a wait asks whether to stop

}  // namespace

TcpIntake::TcpIntake(Acceptor acceptor, int rank, int connections, std::function<bool(const TcpConnectionKey&)> expects,
                     OwnMemory own)
    : acceptor_(std::move(acceptor)),
      rank_(rank),
      connections_(connections),
      expects_(std::move(expects)),
      own_(std::move(own)) {}

bool TcpIntake::advance(Time now) {
  std::vector<ProvedStream> proved;
  acceptor_->advance(now, proved);
  if (proved.empty()) return true;
  for (ProvedStream& stream : proved) keep(std::move(stream));
  changed_.notify_all();
  own_.doorbell->wake();
  return true;
}

void TcpIntake::keep(ProvedStream stream) {
  const Claim& claim = stream.claim;
  const TcpConnectionKey key{static_cast<int>(claim.client_rank), claim.detail};
  const bool meant = claim.role == Role::data && claim.server_rank == static_cast<uint32_t>(rank_) && expects_(key);
  if (meant) {
    const std::scoped_lock lock(mutex_);
    // A second one takes the place of the first: who dials again has given that one up.
    if (!taken_.contains(key)) {
      here_.insert_or_assign(key, std::move(stream));
      return;
    }
  }
  log::warn("rank {}: dropped a data connection from rank {} ({}): {}", rank_, claim.client_rank,
            peer_text(stream.fd.get()), meant ? "that link stands already" : "no such link can be");
}

std::optional<std::vector<ProvedStream>> TcpIntake::take(int peer, LinkKind kind) {
  const std::scoped_lock lock(mutex_);
  if (!complete(peer, kind)) return std::nullopt;
  return take_all(peer, kind);
}

std::optional<std::vector<ProvedStream>> TcpIntake::await(int peer, LinkKind kind, Deadline deadline,
                                                          const OnceFlag* stop) {
  std::unique_lock lock(mutex_);
  while (!complete(peer, kind)) {
    if (deadline.passed() || (stop != nullptr && stop->is_set())) return std::nullopt;
    changed_.wait_until(lock, deadline.earlier(Deadline::after(kStopPoll)).time());
  }
  return take_all(peer, kind);
}

// Both with the mutex.

bool TcpIntake::complete(int peer, LinkKind kind) const {
  int here = 0;
  while (here < connections_ && here_.contains({peer, tcp_detail(kind, here)})) ++here;
  return here == connections_;
}

std::vector<ProvedStream> TcpIntake::take_all(int peer, LinkKind kind) {
  std::vector<ProvedStream> streams;
  for (int i = 0; i < connections_; ++i) {
    const TcpConnectionKey key{peer, tcp_detail(kind, i)};
    streams.push_back(std::move(here_.extract(key).mapped()));
    taken_.insert(key);
  }
  return streams;
}

void TcpIntake::close() {
  acceptor_.reset();
  const std::scoped_lock lock(mutex_);
  here_.clear();
  own_ = {};
}

}  // namespace ronde
