// TCP and Unix sockets, close-on-exec and non-blocking, with errors that name the address. No protocol.
#pragma once

#include <netinet/in.h>
#include <sys/socket.h>

#include <array>
#include <chrono>
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

  [[nodiscard]] int family() const { return system_.any.ss_family; }  // AF_INET or AF_INET6
  [[nodiscard]] uint16_t port() const;
  [[nodiscard]] SocketAddress with_port(uint16_t port) const;
  [[nodiscard]] ByteView address_bytes() const;  // 4 or 16
  [[nodiscard]] bool is_loopback() const;
  [[nodiscard]] bool is_link_local() const;
  [[nodiscard]] std::string text() const;  // "10.0.0.1:4711", "[fd00::1]:4711"
  [[nodiscard]] const sockaddr* system() const { return reinterpret_cast<const sockaddr*>(&system_); }
  [[nodiscard]] socklen_t system_size() const;
  bool operator==(const SocketAddress& other) const;

 private:
  union System {  // a union, since the compiler may assume that other references to these types never meet
    sockaddr_storage any;
    sockaddr_in ipv4;
    sockaddr_in6 ipv6;
  };
  System system_{};
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
// One listening socket for each address, all on the same port. Addresses on which none can be had are left out with a
// log line; fails if none is left, or if a port that was asked for (not 0) is taken on any of them.
Result<std::vector<Listener>> listen_tcp_on(const std::vector<SocketAddress>& addresses, uint16_t port);

// Starts to connect; the result becomes writable when the connection stands or failed (ask connect_error). Where it
// fails at once errno says why, too.
Result<Fd> start_connect(const SocketAddress& address);
// 0, or the errno with which connecting ended. A socket that was connected to itself (a port of the ephemeral range
// where nobody listens) counts as ECONNREFUSED.
int connect_error(int fd);

// Settings of every TCP connection of the library: no delay, and keepalive as by set_silent_limit of
// kDefaultSilentTimeout.
void configure_tcp(int fd);
// An idle connection ends once its other host has been silent for about a fifth more than this, never less than this:
// the kernel asks after one fifth, and again after each further one. 1 s to some minutes: what is on its way ends a
// connection after a quarter of an hour, whatever is set here.
void set_silent_limit(int fd, std::chrono::seconds limit);

// What has become of what was sent on a TCP connection.
struct Delivery {
  enum class State {
    done,      // all of it has been acknowledged
    pending,   // some of it is on its way
    repeated,  // the other host has not acknowledged it, and it was sent again, or asked whether there is room for it
  };
  State state = State::done;
  Milliseconds since_last_sign{};  // of the other host: an acknowledgement
};
[[nodiscard]] Delivery delivery_of(int fd);

// Of the other end; nothing: not connected, or not by IP.
std::optional<SocketAddress> peer_address(int fd);
// The same as text, for messages.
std::string peer_text(int fd);

// RONDE_SOCKET_FAMILY as AF_INET, AF_INET6, or 0 for any.
[[nodiscard]] int family_by_name(std::string_view name);

// Interfaces of this host that can lead to other ranks, best first: the one with the default route, then other up and
// real ones; loopback only if there is nothing else. Link-local addresses never. Ports are 0.
// selection: RONDE_SOCKET_IFNAME ("eth0,ib0"; "^docker0,lo" excludes; "=eth0" exact names, else prefixes; empty:
// automatic). family: 0 any, AF_INET, AF_INET6. rondeInvalidUsage when a selection leaves nothing, with the names that
// there are, or when ^ or = stands before a further name. rondeSystemError when no interface is up at all.
Result<std::vector<SocketAddress>> local_addresses(std::string_view selection, int family);
// The same with the names of the interfaces.
struct InterfaceAddress {
  std::string interface;
  SocketAddress address;
};
Result<std::vector<InterfaceAddress>> local_interfaces(std::string_view selection, int family);

// Addresses of a host's name or of a numeric address, without link-local ones; ports 0. rondeInvalidUsage with the
// reason; errors do not say what the name was for.
Result<std::vector<SocketAddress>> resolve_host(const std::string& host, int family);

// True if the address is one of this host's own, loopback included.
[[nodiscard]] bool is_local_address(const SocketAddress& address);

}  // namespace ronde
