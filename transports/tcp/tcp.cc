#include "transports/tcp/tcp.h"

#include <fmt/format.h>
#include <poll.h>

#include <atomic>
#include <map>
#include <thread>

#include "base/authenticated_stream.h"
#include "base/log.h"
#include "transports/tcp/tcp_receiver.h"
#include "transports/tcp/tcp_sender.h"

namespace ronde {
namespace {

constexpr size_t kSliceBytes = 128 << 10;
constexpr int kAcceptPollMs = 50;  // how often it is asked whether to stop
constexpr size_t kMostAddresses = 64;

// Names one connection between two ranks, in the claim's detail.
constexpr uint32_t detail_of(LinkKind kind, int connection) {
  return static_cast<uint32_t>(kind) << 16 | static_cast<uint32_t>(connection);
}

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

// Takes in the data connections that others make, on a thread of its own, while this rank makes its own ones: both sides
// have to answer each other.
class Intake {
 public:
  using Key = std::pair<int, uint32_t>;  // rank of the peer, detail

  Intake(Acceptor acceptor, std::vector<Key> wanted, const EndpointContext& context, Deadline deadline)
      : acceptor_(std::move(acceptor)), wanted_(std::move(wanted)), context_(context), deadline_(deadline) {
    thread_ = std::thread([this] { run(); });
  }
  ~Intake() {
    stop_.set();
    if (thread_.joinable()) thread_.join();
  }

  // Waits for the thread. Names the first peer whose connection has not come.
  Status finish(std::map<Key, Stream>& streams) {
    thread_.join();
    streams = std::move(streams_);
    for (const Key& key : wanted_) {
      if (!streams.contains(key)) {
        return {rondeTimedOut, fmt::format("rank {} did not make its data connection in time", key.first)};
      }
    }
    return {};
  }

 private:
  void run() {
    while (streams_.size() < wanted_.size() && !deadline_.passed() && !stop_.is_set() && !context_.stopped()) {
      pollfd ready{acceptor_.poll_fd(), POLLIN, 0};
      ::poll(&ready, 1, kAcceptPollMs);
      std::vector<Stream> proved;
      acceptor_.advance(Clock::now(), proved);
      for (Stream& stream : proved) take(std::move(stream));
    }
  }

  void take(Stream stream) {
    const Key key{static_cast<int>(stream.claim.client_rank), stream.claim.detail};
    const bool meant =
        stream.claim.role == Role::data && stream.claim.server_rank == static_cast<uint32_t>(context_.rank);
    const bool wanted = std::find(wanted_.begin(), wanted_.end(), key) != wanted_.end();
    if (meant && wanted) streams_.emplace(key, std::move(stream));
  }

  Acceptor acceptor_;
  std::vector<Key> wanted_;
  const EndpointContext& context_;
  Deadline deadline_;
  std::map<Key, Stream> streams_;
  OnceFlag stop_;
  std::thread thread_;
};

class TcpEndpoint final : public Endpoint {
 public:
  TcpEndpoint(const EndpointContext& context, std::vector<Listener> listeners, std::vector<SocketAddress> addresses)
      : context_(context), port_(listeners.front().port), addresses_(std::move(addresses)) {
    for (Listener& listener : listeners) listeners_.push_back(std::move(listener.fd));
  }

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
    Intake intake(Acceptor(std::move(listeners_), context_.secret, context_.job), incoming_keys(wishes), context_,
                  deadline);
    std::vector<MadeLink> links(wishes.size());
    for (size_t i = 0; i < wishes.size(); ++i) {
      if (wishes[i].outgoing) RONDE_TRY(dial_link(wishes[i], peers, own, deadline, links[i]));
    }
    std::map<Intake::Key, Stream> streams;
    RONDE_TRY(intake.finish(streams));
    for (size_t i = 0; i < wishes.size(); ++i) {
      if (!wishes[i].outgoing) RONDE_TRY(take_link(wishes[i], streams, own, links[i]));
    }
    return links;
  }

 private:
  [[nodiscard]] int connections() const { return static_cast<int>(context_.settings->tcp_connections); }

  [[nodiscard]] std::vector<Intake::Key> incoming_keys(std::span<const LinkWish> wishes) const {
    std::vector<Intake::Key> keys;
    for (const LinkWish& wish : wishes) {
      for (int i = 0; !wish.outgoing && i < connections(); ++i) keys.emplace_back(wish.peer, detail_of(wish.kind, i));
    }
    return keys;
  }

  Status dial_link(const LinkWish& wish, const Peers& peers, const OwnMemory& own, Deadline deadline, MadeLink& link) {
    const auto facts = read_facts(peers.facts[static_cast<size_t>(wish.peer)]);
    const std::string whom = fmt::format("rank {}", wish.peer);
    if (!facts) return {rondeInternalError, fmt::format("{} sent addresses that cannot be read", whom)};
    std::vector<Fd> fds;
    for (int i = 0; i < connections(); ++i) {
      const Claim claim{.job = context_.job,
                        .role = Role::data,
                        .client_rank = static_cast<uint32_t>(context_.rank),
                        .server_rank = static_cast<uint32_t>(wish.peer),
                        .detail = detail_of(wish.kind, i)};
      RONDE_ASSIGN(Stream stream,
                   dial(facts->addresses, context_.secret, claim, whom, {.deadline = deadline, .stop = context_.stop}));
      RONDE_TRY(enter(stream, own, fds));
    }
    const std::string peer = fmt::format("{} ({})", whom, peer_text(fds.front().get()));
    link.send = std::make_unique<SendPort>(wish.peer, kSliceBytes,
                                           std::make_unique<TcpSender>(std::move(fds), kSliceBytes, peer));
    return {};
  }

  Status take_link(const LinkWish& wish, std::map<Intake::Key, Stream>& streams, const OwnMemory& own,
                   MadeLink& link) const {
    std::vector<Fd> fds;
    for (int i = 0; i < connections(); ++i) {
      Stream& stream = streams.at({wish.peer, detail_of(wish.kind, i)});
      RONDE_TRY(enter(stream, own, fds));
    }
    const std::string peer = fmt::format("rank {} ({})", wish.peer, peer_text(fds.front().get()));
    link.receive =
        std::make_unique<ReceivePort>(wish.peer, std::make_unique<TcpReceiver>(std::move(fds), kSliceBytes, peer));
    return {};
  }

  Status enter(Stream& stream, const OwnMemory& own, std::vector<Fd>& fds) const {
    set_silent_limit(stream.fd.get(), std::chrono::seconds(context_.settings->silent_timeout_s));
    RONDE_TRY(own.doorbell->add_socket(stream.fd.get()));
    fds.push_back(std::move(stream.fd));
    return {};
  }

  EndpointContext context_;
  std::vector<Fd> listeners_;
  uint16_t port_;
  std::vector<SocketAddress> addresses_;
};

class TcpTransport final : public Transport {
 public:
  [[nodiscard]] std::string_view name() const override { return "tcp"; }
  [[nodiscard]] bool shares_memory() const override { return false; }

  Result<std::unique_ptr<Endpoint>> open(const EndpointContext& context) override {
    const Settings& settings = *context.settings;
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
