#include "base/socket.h"

#include <fcntl.h>
#include <netinet/tcp.h>
#include <poll.h>

#include <catch2/catch.hpp>
#include <cerrno>

namespace ronde {
namespace {

bool has_ipv6() { return listen_tcp(SocketAddress::parse("::1", 0), 0).ok(); }

int connect_and_wait(const SocketAddress& address) {
  const Result<Fd> fd = start_connect(address);
  if (!fd.ok()) return errno;
  pollfd polled{fd->get(), POLLOUT, 0};
  REQUIRE(poll(&polled, 1, 2000) == 1);
  return connect_error(fd->get());
}

}  // namespace

TEST_CASE("Addresses are read, written and compared") {
  const auto four = SocketAddress::parse("10.1.2.3", 4711);
  REQUIRE(four);
  CHECK(four->family() == AF_INET);
  CHECK(four->text() == "10.1.2.3:4711");
  CHECK(four->port() == 4711);
  CHECK(four->with_port(1).text() == "10.1.2.3:1");
  const auto six = SocketAddress::parse("fd00::1", 80);
  REQUIRE(six);
  CHECK(six->text() == "[fd00::1]:80");
  CHECK_FALSE(*four == *six);
  CHECK(*six == *SocketAddress::parse("fd00:0::1", 80));
  CHECK_FALSE(SocketAddress::parse("localhost", 1));
  CHECK_FALSE(SocketAddress::parse("", 1));

  for (const SocketAddress& address : {*four, *six}) {
    Writer writer;
    write_address(writer, address);
    Reader reader(writer.view());
    const auto read = read_address(reader);
    REQUIRE(read);
    CHECK(*read == address);
    CHECK(reader.complete());
    Reader cut(ByteView(writer.view()).first(writer.view().size() - 1));
    CHECK_FALSE(read_address(cut));
  }
  const Bytes unknown_family(20, std::byte{5});
  Reader reader(unknown_family);
  CHECK_FALSE(read_address(reader));
}

TEST_CASE("Kinds of addresses") {
  CHECK(SocketAddress::parse("127.0.1.1", 0)->is_loopback());
  CHECK(SocketAddress::parse("::1", 0)->is_loopback());
  CHECK_FALSE(SocketAddress::parse("10.0.0.1", 0)->is_loopback());
  CHECK(SocketAddress::parse("169.254.3.4", 0)->is_link_local());
  CHECK(SocketAddress::parse("fe80::1", 0)->is_link_local());
  CHECK_FALSE(SocketAddress::parse("fd00::1", 0)->is_link_local());
  CHECK(is_local_address(*SocketAddress::parse("127.0.0.1", 5)));
}

TEST_CASE("An IPv4 address inside IPv6 is the IPv4 address") {
  const auto mapped = SocketAddress::parse("::ffff:10.1.2.3", 7);
  REQUIRE(mapped);
  CHECK(SocketAddress::from_system(mapped->system())->text() == "10.1.2.3:7");
}

TEST_CASE("Listeners take connections, and are closed on exec") {
  const Result<Listener> wildcard = listen_tcp(std::nullopt, 0);
  REQUIRE(wildcard.ok());
  CHECK(wildcard->port != 0);
  CHECK((fcntl(wildcard->fd.get(), F_GETFD) & FD_CLOEXEC) != 0);
  CHECK((fcntl(wildcard->fd.get(), F_GETFL) & O_NONBLOCK) != 0);
  CHECK(connect_and_wait(*SocketAddress::parse("127.0.0.1", wildcard->port)) == 0);
  if (has_ipv6()) CHECK(connect_and_wait(*SocketAddress::parse("::1", wildcard->port)) == 0);

  const Result<Listener> loopback = listen_tcp(SocketAddress::parse("127.0.0.1", 0), 0);
  REQUIRE(loopback.ok());
  CHECK(connect_and_wait(*SocketAddress::parse("127.0.0.1", loopback->port)) == 0);
  CHECK(connect_and_wait(*SocketAddress::parse("127.0.0.2", loopback->port)) == ECONNREFUSED);
}

TEST_CASE("case_12_taken_port: the error names the port and the setting") {
  const Result<Listener> first = listen_tcp(std::nullopt, 0);
  REQUIRE(first.ok());
  const Result<Listener> second = listen_tcp(std::nullopt, first->port);
  REQUIRE_FALSE(second.ok());
  CHECK(second.status().code() == rondeSystemError);
  CHECK_THAT(second.status().message(), Catch::Contains(std::to_string(first->port)) && Catch::Contains("RONDE_PORT"));
}

TEST_CASE("Several addresses share one port") {
  std::vector<SocketAddress> addresses = {*SocketAddress::parse("127.0.0.1", 0), *SocketAddress::parse("127.0.0.2", 0)};
  const auto listeners = listen_tcp_on(addresses, 0);
  REQUIRE(listeners.ok());
  REQUIRE(listeners->size() == 2);
  CHECK((*listeners)[0].port == (*listeners)[1].port);
  CHECK(connect_and_wait(addresses[1].with_port((*listeners)[0].port)) == 0);
  CHECK_FALSE(listen_tcp_on(addresses, (*listeners)[0].port).ok());
}

TEST_CASE("Interfaces are chosen by name and family") {
  const auto loopback = local_addresses("lo", AF_INET);
  REQUIRE(loopback.ok());
  CHECK((*loopback)[0].text() == "127.0.0.1:0");
  CHECK(local_addresses("=lo", AF_INET).ok());
  CHECK_FALSE(local_addresses("=l", 0).ok());

  const auto none = local_addresses("nosuch0", 0);
  REQUIRE_FALSE(none.ok());
  CHECK(none.status().code() == rondeInvalidUsage);
  CHECK_THAT(none.status().message(),
             Catch::Contains("RONDE_SOCKET_IFNAME='nosuch0'") && Catch::Contains("lo (127.0.0.1)"));

  const std::vector<std::pair<std::string, std::string>> misplaced{
      {"^lo,^eth0", ": write '^lo,eth0'"},     {"=lo,=eth0", ": write '=lo,eth0'"},
      {"^=lo,^=eth0", ": write '^=lo,eth0'"},  {"^lo,^", ": write '^lo'"},
      {"^lo,=eth0", "stand before the first"}, {"lo,^eth0", "stand before the first"}};
  for (const auto& [selection, end] : misplaced) {
    const Status status = local_addresses(selection, 0).status();
    CHECK(status.code() == rondeInvalidUsage);
    CHECK_THAT(status.message(), Catch::Contains("'" + selection + "'") && Catch::EndsWith(end));
  }

  const auto automatic = local_addresses("", 0);
  REQUIRE(automatic.ok());
  CHECK_FALSE(automatic->empty());
  for (const SocketAddress& address : *automatic) {
    CHECK_FALSE(address.is_link_local());
    CHECK(address.is_loopback() == automatic->front().is_loopback());  // loopback only if there is nothing else
  }
  if (!automatic->front().is_loopback()) {
    const auto excluded = local_addresses("^lo", 0);
    REQUIRE(excluded.ok());
    CHECK(*excluded == *automatic);
  }
}

TEST_CASE("An idle connection ends after its limit at the earliest, and a fifth or a few seconds later at most") {
  const Result<Listener> listener = listen_tcp(SocketAddress::parse("127.0.0.1", 0), 0);
  REQUIRE(listener.ok());
  const int fd = listener->fd.get();
  for (const int limit : {5, 9, 10, 14, 600}) {
    set_silent_limit(fd, std::chrono::seconds(limit));
    const auto option = [fd](int name) {
      int value = 0;
      socklen_t size = sizeof value;
      REQUIRE(getsockopt(fd, IPPROTO_TCP, name, &value, &size) == 0);
      return value;
    };
    const int silence = option(TCP_KEEPIDLE) + option(TCP_KEEPCNT) * option(TCP_KEEPINTVL);
    CHECK(silence >= limit);
    CHECK(silence <= limit + limit / 5 + 6);
  }
}

}  // namespace ronde
