// TCP and Unix sockets, close-on-exec and non-blocking, with errors that name the address. No protocol.
#pragma once

#include <sys/socket.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/deadline.h"
#include "base/fd.h"
#include "base/status.h"
#include "base/wire.h"

namespace ronde {

// An IPv4 or IPv6 address with a port. A value.
class SocketAddress {
 public:
  SocketAddress() = default;
  static SocketAddress ipv4(const std::array<std::byte, 4>& address, uint16_t port);
  static SocketAddress ipv6(const std::array<std::byte, 16>& address, uint16_t port);
  // A numeric address ("10.0.0.1", "fe80::1") without a port; names are not resolved.
  static std::optional<SocketAddress> parse(std::string_view text, uint16_t port);
  static std::optional<SocketAddress> from_system(const sockaddr* address);  // not IP: nothing

  [[nodiscard]] int family() const { return storage_.ss_family; }  // AF_INET or AF_INET6
  [[nodiscard]] uint16_t port() const;
  [[nodiscard]] SocketAddress with_port(uint16_t port) const;
  [[nodiscard]] ByteView address_bytes() const;  // 4 or 16
  [[nodiscard]] bool is_loopback() const;
  [[nodiscard]] bool is_link_local() const;
  [[nodiscard]] std::string text() const;  // "10.0.0.1:4711", "[fd00::1]:4711"
  [[nodiscard]] const sockaddr* system() const { return reinterpret_cast<const sockaddr*>(&storage_); }
  [[nodiscard]] socklen_t system_size() const;
  bool operator==(const SocketAddress& other) const;

 private:
  sockaddr_storage storage_{};
};

void write_address(Writer& writer, const SocketAddress& address);
std::optional<SocketAddress> read_address(Reader& reader);

// A listening TCP socket. With addresses empty: one socket on the IPv6 wildcard that takes IPv4 too, or on the IPv4
// wildcard where IPv6 is switched off. port 0: any free port. bound: where it listens.
struct Listener {
  Fd fd;
  uint16_t port = 0;
};
Result<Listener> listen_tcp(const std::optional<SocketAddress>& address, uint16_t port);

// Starts to connect; the result becomes writable when the connection stands or failed (ask connect_error).
Result<Fd> start_connect(const SocketAddress& address);
// 0, or the errno with which connecting ended.
int connect_error(int fd);

// Settings of every TCP connection of the library: no delay, keepalive 2/2/5.
void configure_tcp(int fd);

// Address of the other end, as text; for messages.
std::string peer_text(int fd);

// Interfaces of this host that can lead to other ranks, best first: the one with the default route, then other up and
// real ones; loopback only if there is nothing else. Link-local addresses never. Ports are 0.
// selection: RONDE_SOCKET_IFNAME ("eth0,ib0"; "^docker0,lo" excludes; "=eth0" exact names, else prefixes; empty: automatic).
// family: 0 any, AF_INET, AF_INET6. rondeInvalidUsage when a selection leaves nothing, with the names that there are.
Result<std::vector<SocketAddress>> local_addresses(std::string_view selection, int family);

}  // namespace ronde
