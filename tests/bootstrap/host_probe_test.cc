// Whether a host is there, asked apart from a connection.
#include "bootstrap/host_probe.h"

#include <catch2/catch.hpp>
#include <thread>

namespace ronde {
namespace {

// Asks as long as it takes for an answer to come back on this host.
bool answered_soon(HostProbe& probe) {
  const Deadline limit = Deadline::after(Milliseconds(5'000));
  while (!limit.passed()) {
    if (probe.answered()) return true;
    std::this_thread::sleep_for(Milliseconds(20));
  }
  return false;
}

}  // namespace

TEST_CASE("a host answers, whether somebody listens there or not") {
  const auto loopback = SocketAddress::parse("127.0.0.1", 0);
  Result<Listener> listener = listen_tcp(loopback, 0);
  REQUIRE(listener.ok());
  HostProbe probe(loopback->with_port(listener->port));
  const bool listens = GENERATE(true, false);
  if (!listens) listener->fd.reset();
  CHECK(answered_soon(probe));
  CHECK(answered_soon(probe));
}

TEST_CASE("who does not answer is not there") {
  // A listener whose queue is full does not answer.
  const Fd listener = Fd::make([] { return ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0); });
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  REQUIRE(bind(listener.get(), reinterpret_cast<sockaddr*>(&address), size) == 0);
  REQUIRE(listen(listener.get(), 0) == 0);
  REQUIRE(getsockname(listener.get(), reinterpret_cast<sockaddr*>(&address), &size) == 0);
  const auto target = SocketAddress::from_system(reinterpret_cast<sockaddr*>(&address));
  std::vector<Fd> queued;
  for (int i = 0; i < 3; ++i) queued.push_back(std::move(*start_connect(*target)));
  HostProbe probe(*target);
  for (int i = 0; i < 5; ++i) {
    CHECK_FALSE(probe.answered());
    std::this_thread::sleep_for(Milliseconds(20));
  }
}

}  // namespace ronde
