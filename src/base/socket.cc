#include "base/socket.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <linux/sockios.h>
#include <netinet/tcp.h>
#include <sys/ioctl.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/log.h"
#include "base/retry.h"
#include "base/settings.h"

namespace ronde {
namespace {

constexpr int kBacklog = 4096;  // the kernel cuts it to net.core.somaxconn

void set_option(int fd, int level, int option, int value) { setsockopt(fd, level, option, &value, sizeof value); }

Fd open_stream_socket(int family) {
  return Fd::make([&] { return ::socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0); });
}

Status listen_error(const std::string& where, uint16_t port, int error_number) {
  const char* remedy =
      error_number == EADDRINUSE && port != 0 ? " (another program has the port: choose one with RONDE_PORT)" : "";
  return system_error(fmt::format("cannot listen on {}{}", where, remedy), error_number);
}

// Binds and listens; 0 or the errno.
int bind_and_listen(int fd, const SocketAddress& address) {
  set_option(fd, SOL_SOCKET, SO_REUSEADDR, 1);
  if (::bind(fd, address.system(), address.system_size()) != 0) return errno;
  if (::listen(fd, kBacklog) != 0) return errno;
  return 0;
}

uint16_t bound_port(int fd) {
  sockaddr_storage storage{};
  socklen_t size = sizeof storage;
  if (getsockname(fd, reinterpret_cast<sockaddr*>(&storage), &size) != 0) return 0;
  const auto address = SocketAddress::from_system(reinterpret_cast<sockaddr*>(&storage));
  return address ? address->port() : 0;
}

Result<Listener> listen_on_one(const SocketAddress& address) {
  Fd fd = open_stream_socket(address.family());
  if (!fd.valid()) return listen_error(address.text(), address.port(), errno);
  if (address.family() == AF_INET6) set_option(fd.get(), IPPROTO_IPV6, IPV6_V6ONLY, 1);
  if (const int error = bind_and_listen(fd.get(), address); error != 0)
    return listen_error(address.text(), address.port(), error);
  const uint16_t port = bound_port(fd.get());
  return Listener{std::move(fd), port};
}

Result<Listener> listen_on_wildcard(uint16_t port) {
  if (Fd fd = open_stream_socket(AF_INET6); fd.valid()) {
    const SocketAddress any = SocketAddress::ipv6({}, port);
    set_option(fd.get(), IPPROTO_IPV6, IPV6_V6ONLY, 0);
    const int error = bind_and_listen(fd.get(), any);
    if (error == 0) {
      const uint16_t bound = bound_port(fd.get());
      return Listener{std::move(fd), bound};
    }
    if (error == EADDRINUSE) return listen_error(fmt::format("port {}", port), port, error);
  }
  // IPv6 is switched off in this kernel, namespace or sandbox.
  return listen_on_one(SocketAddress::ipv4({}, port));
}

bool connected_to_itself(int fd) {
  sockaddr_storage own{};
  sockaddr_storage other{};
  socklen_t own_size = sizeof own;
  socklen_t other_size = sizeof other;
  return getsockname(fd, reinterpret_cast<sockaddr*>(&own), &own_size) == 0 &&
         getpeername(fd, reinterpret_cast<sockaddr*>(&other), &other_size) == 0 && own_size == other_size &&
         SocketAddress::from_system(reinterpret_cast<sockaddr*>(&own)) ==
             SocketAddress::from_system(reinterpret_cast<sockaddr*>(&other));
}

}  // namespace

SocketAddress SocketAddress::ipv4(const std::array<std::byte, 4>& address, uint16_t port) {
  SocketAddress result;
  sockaddr_in& target = result.system_.ipv4;
  target.sin_family = AF_INET;
  target.sin_port = htons(port);
  std::memcpy(&target.sin_addr, address.data(), address.size());
  return result;
}

SocketAddress SocketAddress::ipv6(const std::array<std::byte, 16>& address, uint16_t port) {
  SocketAddress result;
  sockaddr_in6& target = result.system_.ipv6;
  target.sin6_family = AF_INET6;
  target.sin6_port = htons(port);
  std::memcpy(&target.sin6_addr, address.data(), address.size());
  return result;
}

std::optional<SocketAddress> SocketAddress::parse(std::string_view text, uint16_t port) {
  const std::string terminated(text);
  if (std::array<std::byte, 4> address{}; inet_pton(AF_INET, terminated.c_str(), address.data()) == 1)
    return ipv4(address, port);
  if (std::array<std::byte, 16> address{}; inet_pton(AF_INET6, terminated.c_str(), address.data()) == 1)
    return ipv6(address, port);
  return std::nullopt;
}

std::optional<SocketAddress> SocketAddress::from_system(const sockaddr* address) {
  if (address == nullptr) return std::nullopt;
  if (address->sa_family == AF_INET) {
    sockaddr_in source{};
    std::memcpy(&source, address, sizeof source);
    std::array<std::byte, 4> bytes{};
    std::memcpy(bytes.data(), &source.sin_addr, bytes.size());
    return ipv4(bytes, ntohs(source.sin_port));
  }
  if (address->sa_family != AF_INET6) return std::nullopt;
  sockaddr_in6 source{};
  std::memcpy(&source, address, sizeof source);
  if (IN6_IS_ADDR_V4MAPPED(&source.sin6_addr)) {  // an IPv4 peer of a listener that takes both families
    std::array<std::byte, 4> bytes{};
    std::memcpy(bytes.data(), source.sin6_addr.s6_addr + 12, bytes.size());
    return ipv4(bytes, ntohs(source.sin6_port));
  }
  std::array<std::byte, 16> bytes{};
  std::memcpy(bytes.data(), &source.sin6_addr, bytes.size());
  SocketAddress result = ipv6(bytes, ntohs(source.sin6_port));
  result.system_.ipv6.sin6_scope_id = source.sin6_scope_id;
  return result;
}

uint16_t SocketAddress::port() const {
  // Both families have the port in the same place.
  return ntohs(system_.ipv4.sin_port);
}

SocketAddress SocketAddress::with_port(uint16_t port) const {
  SocketAddress result = *this;
  result.system_.ipv4.sin_port = htons(port);
  return result;
}

ByteView SocketAddress::address_bytes() const {
  if (family() == AF_INET) return std::as_bytes(std::span(&system_.ipv4.sin_addr, 1));
  if (family() == AF_INET6) return std::as_bytes(std::span(&system_.ipv6.sin6_addr, 1));
  return {};
}

bool SocketAddress::is_loopback() const {
  if (family() == AF_INET) return address_bytes()[0] == std::byte{127};
  return family() == AF_INET6 && IN6_IS_ADDR_LOOPBACK(&system_.ipv6.sin6_addr);
}

bool SocketAddress::is_link_local() const {
  if (family() == AF_INET) return address_bytes()[0] == std::byte{169} && address_bytes()[1] == std::byte{254};
  return family() == AF_INET6 && IN6_IS_ADDR_LINKLOCAL(&system_.ipv6.sin6_addr);
}

std::string SocketAddress::text() const {
  char buffer[INET6_ADDRSTRLEN] = "";
  if (family() == AF_INET) {
    inet_ntop(AF_INET, &system_.ipv4.sin_addr, buffer, sizeof buffer);
    return fmt::format("{}:{}", buffer, port());
  }
  if (family() != AF_INET6) return "no address";
  inet_ntop(AF_INET6, &system_.ipv6.sin6_addr, buffer, sizeof buffer);
  return fmt::format("[{}]:{}", buffer, port());
}

socklen_t SocketAddress::system_size() const {
  return family() == AF_INET6 ? sizeof(sockaddr_in6) : sizeof(sockaddr_in);
}

bool SocketAddress::operator==(const SocketAddress& other) const {
  const ByteView mine = address_bytes();
  const ByteView theirs = other.address_bytes();
  return family() == other.family() && port() == other.port() &&
         std::equal(mine.begin(), mine.end(), theirs.begin(), theirs.end());
}

void write_address(Writer& writer, const SocketAddress& address) {
  const ByteView bytes = address.address_bytes();
  writer.number(static_cast<uint8_t>(address.family() == AF_INET ? 4 : 6)).number(address.port());
  writer.raw(bytes.data(), bytes.size());
}

std::optional<SocketAddress> read_address(Reader& reader) {
  const auto family = reader.number<uint8_t>();
  const auto port = reader.number<uint16_t>();
  SocketAddress address;
  if (family == 4) {
    address = SocketAddress::ipv4(reader.fixed<4>(), port);
  } else if (family == 6) {
    address = SocketAddress::ipv6(reader.fixed<16>(), port);
  } else {
    return std::nullopt;
  }
  if (!reader.ok()) return std::nullopt;
  return address;
}

Result<Listener> listen_tcp(const std::optional<SocketAddress>& address, uint16_t port) {
  return address ? listen_on_one(address->with_port(port)) : listen_on_wildcard(port);
}

Result<std::vector<Listener>> listen_tcp_on(const std::vector<SocketAddress>& addresses, uint16_t port) {
  std::vector<Listener> listeners;
  Status first_error(rondeInternalError, "no address to listen on");
  bool failed = false;
  uint16_t common_port = port;
  for (const SocketAddress& address : addresses) {
    Result<Listener> listener = listen_tcp(address, common_port);
    if (listener.ok()) {
      common_port = listener->port;
      listeners.push_back(std::move(*listener));
      continue;
    }
    if (port != 0) return listener.status();
    if (!failed) first_error = listener.status();
    failed = true;
    log::info("{}; going on without this address", listener.status().message());
  }
  if (listeners.empty()) return first_error;
  return listeners;
}

Result<Fd> start_connect(const SocketAddress& address) {
  Fd fd = open_stream_socket(address.family());
  if (!fd.valid()) return system_error("no socket for " + address.text(), errno);
  const int result = ::connect(fd.get(), address.system(), address.system_size());
  // An interrupted connect goes on by itself, like one in progress.
  if (result != 0 && errno != EINPROGRESS && errno != EINTR) {
    const int error = errno;
    Status failure = system_error(address.text(), error);
    fd.reset();
    errno = error;
    return failure;
  }
  return fd;
}

int connect_error(int fd) {
  int error = 0;
  socklen_t size = sizeof error;
  if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size) != 0) return errno;
  if (error == 0 && connected_to_itself(fd)) return ECONNREFUSED;
  return error;
}

void configure_tcp(int fd) {
  set_option(fd, IPPROTO_TCP, TCP_NODELAY, 1);
  set_option(fd, SOL_SOCKET, SO_KEEPALIVE, 1);
  set_silent_limit(fd, kDefaultSilentTimeout);
}

void set_silent_limit(int fd, std::chrono::seconds limit) {
  constexpr int kQuestions = 5;  // after the first silence
  const int every = (static_cast<int>(limit.count()) + kQuestions - 1) / kQuestions;
  set_option(fd, IPPROTO_TCP, TCP_KEEPIDLE, every);
  set_option(fd, IPPROTO_TCP, TCP_KEEPINTVL, every);
  set_option(fd, IPPROTO_TCP, TCP_KEEPCNT, kQuestions);
}

Delivery delivery_of(int fd) {
  int queued = 0;
  if (::ioctl(fd, SIOCOUTQ, &queued) != 0 || queued == 0) return {};
  tcp_info info{};
  socklen_t size = sizeof info;
  if (getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &size) != 0) return {Delivery::State::pending};
  const bool repeated = info.tcpi_retransmits > 0 || info.tcpi_probes > 0;
  return {repeated ? Delivery::State::repeated : Delivery::State::pending, Milliseconds(info.tcpi_last_ack_recv)};
}

std::optional<SocketAddress> peer_address(int fd) {
  sockaddr_storage storage{};
  socklen_t size = sizeof storage;
  if (getpeername(fd, reinterpret_cast<sockaddr*>(&storage), &size) != 0) return std::nullopt;
  return SocketAddress::from_system(reinterpret_cast<sockaddr*>(&storage));
}

std::string peer_text(int fd) {
  const std::optional<SocketAddress> address = peer_address(fd);
  return address ? address->text() : "a local socket";
}

int family_by_name(std::string_view name) {
  if (name == "ipv4") return AF_INET;
  return name == "ipv6" ? AF_INET6 : 0;
}

}  // namespace ronde
