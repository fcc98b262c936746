#include "transports/tcp/tcp.h"

#include <fmt/format.h>

#include <set>

#include "base/authenticated_stream.h"
#include "link/slot_ring.h"
#include "transports/tcp/tcp_dialler.h"
#include "transports/tcp/tcp_intake.h"
#include "transports/tcp/tcp_receiver.h"
#include "transports/tcp/tcp_sender.h"

namespace ronde {
namespace {

constexpr size_t kMostAddresses = 64;

struct TcpFacts {
  std::vector<SocketAddress> addresses;
};

std::optional<TcpFacts> read_facts(ByteView bytes) {
  Reader reader(bytes);
  TcpFacts facts;
  const auto count = reader.number<uint8_t>();
  for (int i = 0; i < count; ++i) {
    const auto address = read_address(reader);
    if (!address) return std::nullopt;
    facts.addresses.push_back(*address);
  }
  if (!reader.complete()) return std::nullopt;
  return facts;
}

class TcpEndpoint final : public Endpoint {
 public:
  TcpEndpoint(const EndpointContext& context, std::vector<Listener> listeners, std::vector<SocketAddress> addresses)
      : context_(context), port_(listeners.front().port), addresses_(std::move(addresses)) {
    for (Listener& listener : listeners) listeners_.push_back(std::move(listener.fd));
  }
  ~TcpEndpoint() override {
    if (intake_ == nullptr) return;
    context_.loop->remove(*intake_);
    intake_->close();
  }
  TcpEndpoint(const TcpEndpoint&) = delete;
  TcpEndpoint& operator=(const TcpEndpoint&) = delete;

  [[nodiscard]] Bytes facts() const override {
    Writer writer;
    writer.number(static_cast<uint8_t>(addresses_.size()));
    for (const SocketAddress& address : addresses_) write_address(writer, address.with_port(port_));
    return writer.take();
  }

  Result<std::vector<bool>> reach(const Peers& peers, const OwnMemory&, Deadline) override {
    // Whether a way exists shows when the links are made; to try each pair now would cost n^2 connections.
    std::vector<bool> reached(peers.facts.size());
    for (size_t rank = 0; rank < reached.size(); ++rank) {
      reached[rank] = static_cast<int>(rank) != context_.rank && !peers.facts[rank].empty();
    }
    return reached;
  }

  [[nodiscard]] const PeerMemory* memory_of(int) const override { return nullptr; }

  Result<std::vector<MadeLink>> connect(std::span<const LinkWish> wishes, const Peers& peers, const OwnMemory& own,
                                        Deadline deadline) override {
    own_ = own;
    keep_facts(wishes, peers);
    RONDE_TRY(take_in(wishes, peers));
    std::vector<MadeLink> links(wishes.size());
    for (size_t i = 0; i < wishes.size(); ++i) {
      if (!wishes[i].outgoing) continue;
      const DialOptions options{.deadline = deadline, .stop = context_.stop};
      RONDE_ASSIGN(std::vector<ProvedStream> streams, dial_all(wishes[i].peer, wishes[i].kind, options));
      RONDE_ASSIGN(links[i], make_link(wishes[i], std::move(streams)));
    }
    for (size_t i = 0; i < wishes.size(); ++i) {
      if (wishes[i].outgoing) continue;
      auto streams = intake_->await(wishes[i].peer, wishes[i].kind, deadline, context_.stop);
      if (!streams) {
        return Status(rondeTimedOut, fmt::format("rank {} did not make its data connection in time", wishes[i].peer));
      }
      RONDE_ASSIGN(links[i], make_link(wishes[i], std::move(*streams)));
    }
    return links;
  }

  void request(const LinkWish& wish, const OnceFlag* failed) override {
    if (!wish.outgoing) return;  // the peer dials
    if (!dialler_) {
      const auto dial = [this](int peer, const DialOptions& options) {
        return dial_all(peer, LinkKind::pair, options);
      };
      dialler_.emplace(dial, own_);
    }
    dialler_->request(wish.peer, Deadline::after(std::chrono::seconds(context_.settings.init_timeout_s)), failed);
  }

  std::optional<Result<MadeLink>> take(const LinkWish& wish) override {
    if (!wish.outgoing) {
      auto streams = intake_->take(wish.peer, wish.kind);
      if (!streams) return std::nullopt;
      return make_link(wish, std::move(*streams));
    }
    auto streams = dialler_->take(wish.peer);
    if (!streams) return std::nullopt;
    if (!streams->ok()) return streams->status();
    return make_link(wish, std::move(**streams));
  }

 private:
  [[nodiscard]] int connections() const { return static_cast<int>(context_.settings.tcp_connections); }

  // Of those that this rank may dial.
  void keep_facts(std::span<const LinkWish> wishes, const Peers& peers) {
    facts_.resize(peers.facts.size());
    for (size_t rank = 0; rank < peers.pairs.size(); ++rank) {
      if (peers.pairs[rank]) facts_[rank] = peers.facts[rank];
    }
    for (const LinkWish& wish : wishes)
      facts_[static_cast<size_t>(wish.peer)] = peers.facts[static_cast<size_t>(wish.peer)];
  }

  // From here on others can connect.
  Status take_in(std::span<const LinkWish> wishes, const Peers& peers) {
    std::set<int> previous;
    for (const LinkWish& wish : wishes) {
      if (!wish.outgoing && wish.kind == LinkKind::ring) previous.insert(wish.peer);
    }
    const auto expects = [previous, pairs = peers.pairs, n = connections()](const TcpConnectionKey& key) {
      for (int i = 0; i < n; ++i) {
        if (key.detail == tcp_detail(LinkKind::ring, i)) return previous.contains(key.peer);
        const auto peer = static_cast<size_t>(key.peer);
        if (key.detail == tcp_detail(LinkKind::pair, i)) return peer < pairs.size() && pairs[peer];
      }
      return false;
    };
    auto intake = std::make_shared<TcpIntake>(Acceptor(std::move(listeners_), context_.secret, context_.job),
                                              context_.rank, connections(), expects, own_);
    RONDE_TRY(context_.loop->add(intake));
    intake_ = std::move(intake);
    return {};
  }

  // Also on the dialler's thread: changes nothing.
  [[nodiscard]] Result<std::vector<ProvedStream>> dial_all(int peer, LinkKind kind, const DialOptions& options) const {
    const std::string whom = fmt::format("rank {}", peer);
    const auto facts = read_facts(facts_[static_cast<size_t>(peer)]);
    if (!facts) return Status(rondeInternalError, fmt::format("{} sent addresses that cannot be read", whom));
    std::vector<ProvedStream> streams;
    for (int i = 0; i < connections(); ++i) {
      const Claim claim{.job = context_.job,
                        .role = Role::data,
                        .client_rank = static_cast<uint32_t>(context_.rank),
                        .server_rank = static_cast<uint32_t>(peer),
                        .detail = tcp_detail(kind, i)};
      RONDE_ASSIGN(ProvedStream stream, dial(facts->addresses, context_.secret, claim, whom, options));
      streams.push_back(std::move(stream));
    }
    return streams;
  }

  Result<MadeLink> make_link(const LinkWish& wish, std::vector<ProvedStream> streams) const {
    std::vector<Fd> fds;
    for (ProvedStream& stream : streams) {
      set_silent_limit(stream.fd.get(), std::chrono::seconds(context_.settings.silent_timeout_s));
      RONDE_TRY(own_.doorbell->add_socket(stream.fd.get()));
      fds.push_back(std::move(stream.fd));
    }
    const std::string peer = fmt::format("rank {} ({})", wish.peer, peer_text(fds.front().get()));
    MadeLink link;
    if (wish.outgoing) {
      link.send = std::make_unique<SendPort>(wish.peer, kLinkSliceBytes,
                                             std::make_unique<TcpSender>(std::move(fds), kLinkSliceBytes, peer));
    } else {
      link.receive = std::make_unique<ReceivePort>(
          wish.peer, std::make_unique<TcpReceiver>(std::move(fds), kLinkSliceBytes, peer));
    }
    return link;
  }

  const EndpointContext context_;
  std::vector<Fd> listeners_;  // until connect()
  uint16_t port_;
  std::vector<SocketAddress> addresses_;
  // Since connect().
  OwnMemory own_;
  std::vector<Bytes> facts_;  // by rank; empty where this rank never dials
  std::shared_ptr<TcpIntake> intake_;
  std::optional<TcpDialler> dialler_;  // since the first request for a sending end; last, as its thread uses the others
};

class TcpTransport final : public Transport {
 public:
  [[nodiscard]] std::string_view name() const override { return "tcp"; }
  [[nodiscard]] bool shares_memory() const override { return false; }

  Result<std::unique_ptr<Endpoint>> open(const EndpointContext& context) override {
    const Settings& settings = context.settings;
    const int family = family_by_name(settings.socket_family);
    RONDE_ASSIGN(std::vector<SocketAddress> addresses, local_addresses(settings.socket_ifname, family));
    if (addresses.size() > kMostAddresses) addresses.resize(kMostAddresses);
    // On the addresses of the settings if they name any, else one listener on the wildcard.
    std::vector<Listener> listeners;
    if (!settings.socket_ifname.empty() || settings.socket_family != "any") {
      RONDE_ASSIGN(listeners, listen_tcp_on(addresses, 0));
    } else {
      RONDE_ASSIGN(Listener listener, listen_tcp(std::nullopt, 0));
      listeners.push_back(std::move(listener));
    }
    return std::unique_ptr<Endpoint>(
        std::make_unique<TcpEndpoint>(context, std::move(listeners), std::move(addresses)));
  }
};

}  // namespace

std::unique_ptr<Transport> make_tcp_transport() { return std::make_unique<TcpTransport>(); }

}  // namespace ronde
