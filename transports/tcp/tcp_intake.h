// Takes in the data connections that others make to one rank, whenever they make them, and keeps each until this rank
// asks for it. Served by the process's event loop.
#pragma once

#include <condition_variable>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <vector>

#include "base/authenticated_stream.h"
#include "base/event_loop.h"
#include "link/transport.h"

namespace ronde {

// One connection between two ranks: which rank has made it, and its name in the claim's detail.
struct TcpConnectionKey {
  int peer = 0;
  uint32_t detail = 0;
  auto operator<=>(const TcpConnectionKey&) const = default;
};

constexpr uint32_t tcp_detail(LinkKind kind, int connection) {
  return static_cast<uint32_t>(kind) << 16 | static_cast<uint32_t>(connection);
}

class TcpIntake final : public EventSource {
 public:
  // expects: whether a connection may come at all; called on the loop's thread. connections: of one link.
  TcpIntake(Acceptor acceptor, int rank, int connections, std::function<bool(const TcpConnectionKey&)> expects,
            OwnMemory own);

  // Of the loop.
  [[nodiscard]] int descriptor() const override { return acceptor_->poll_fd(); }
  bool advance(Time now) override;
  [[nodiscard]] Deadline next_deadline() const override { return acceptor_->next_deadline(); }

  // Any thread. The connections of a link from a peer, once; nothing until all are here.
  std::optional<std::vector<ProvedStream>> take(int peer, LinkKind kind);
  // Blocks until they are here; nothing when the deadline has passed or `stop` (may be null) is set.
  std::optional<std::vector<ProvedStream>> await(int peer, LinkKind kind, Deadline deadline, const OnceFlag* stop);

  // After it has left the loop, which may hold it a moment longer: closes all that nobody has asked for, and the
  // listeners.
  void close();

 private:
  void keep(ProvedStream stream);
  [[nodiscard]] bool complete(int peer, LinkKind kind) const;
  std::vector<ProvedStream> take_all(int peer, LinkKind kind);

  std::optional<Acceptor> acceptor_;  // of the loop's thread
  const int rank_;
  const int connections_;
  const std::function<bool(const TcpConnectionKey&)> expects_;
  OwnMemory own_;

  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<TcpConnectionKey, ProvedStream> here_;
  std::set<TcpConnectionKey> taken_;
};

}  // namespace ronde
