#include "base/authenticated_stream.h"

#include <poll.h>
#include <unistd.h>

#include <atomic>
#include <catch2/catch.hpp>
#include <cerrno>
#include <fstream>
#include <string>
#include <thread>

#include "base/log.h"

namespace ronde {
namespace {

Secret secret_of(int seed) {
  Key bytes{};
  bytes[5] = static_cast<std::byte>(seed);
  return Secret(bytes);
}

Claim claim_of(uint32_t rank) {
  Claim claim;
  claim.job = 42;
  claim.role = Role::data;
  claim.client_rank = rank;
  return claim;
}

SocketAddress loopback(uint16_t port) { return *SocketAddress::parse("127.0.0.1", port); }

// An acceptor that a thread of its own serves.
class Server {
 public:
  Server() : Server(std::move(*listen_tcp(loopback(0), 0))) {}
  ~Server() { stop(); }
  void stop() {
    stopping_ = true;
    if (thread_.joinable()) thread_.join();
  }
  [[nodiscard]] SocketAddress address() const { return loopback(port_); }
  [[nodiscard]] int proved() const { return proved_count_; }
  std::vector<ProvedStream> streams;  // after stop()

 private:
  explicit Server(Listener listener)
      : port_(listener.port), acceptor_(std::move(listener.fd), secret_of(1), 42), thread_([this] { run(); }) {}
  void run() {
    while (!stopping_) {
      pollfd polled{acceptor_.poll_fd(), POLLIN, 0};
      poll(&polled, 1, acceptor_.next_deadline().poll_timeout(Clock::now(), 20));
      acceptor_.advance(Clock::now(), streams);
      proved_count_ = static_cast<int>(streams.size());
    }
  }

  uint16_t port_;
  Acceptor acceptor_;
  std::atomic<bool> stopping_{false};
  std::atomic<int> proved_count_{0};
  std::thread thread_;
};

Fd connect_blocking(const SocketAddress& address) {
  Fd fd(socket(address.family(), SOCK_STREAM | SOCK_CLOEXEC, 0));
  REQUIRE(connect(fd.get(), address.system(), address.system_size()) == 0);
  return fd;
}

Result<ProvedStream> dial_one(const SocketAddress& address, uint32_t rank, Milliseconds limit, int secret = 1) {
  return dial({address}, secret_of(secret), claim_of(rank), "rank 9", {.deadline = Deadline::after(limit)});
}

double seconds_since(Time start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

// True when the other side has closed within the limit.
bool closed_within(int fd, Milliseconds limit) {
  pollfd polled{fd, POLLIN, 0};
  if (poll(&polled, 1, static_cast<int>(limit.count())) != 1) return false;
  char byte = 0;
  return recv(fd, &byte, 1, MSG_DONTWAIT) <= 0;
}

}  // namespace

TEST_CASE("Dialled connections are proved on both sides") {
  Server server;
  std::vector<ProvedStream> dialled;
  for (uint32_t rank = 0; rank < 5; ++rank) {
    Result<ProvedStream> stream = dial_one(server.address(), rank, Milliseconds(2000));
    REQUIRE(stream.ok());
    CHECK(send(stream->fd.get(), "x", 1, MSG_NOSIGNAL) == 1);
    dialled.push_back(std::move(*stream));
  }
  while (server.proved() < 5) std::this_thread::yield();
  server.stop();
  for (size_t i = 0; i < 5; ++i) {
    CHECK(server.streams[i].claim.client_rank == i);
    CHECK(server.streams[i].session_key == dialled[i].session_key);
    char byte = 0;  // what followed the proof belongs to the stream
    pollfd polled{server.streams[i].fd.get(), POLLIN, 0};
    REQUIRE(poll(&polled, 1, 2000) == 1);
    CHECK(recv(server.streams[i].fd.get(), &byte, 1, 0) == 1);
    CHECK(byte == 'x');
  }
}

TEST_CASE("Several addresses that lead to one place: one connection is taken in, and it is the one that was dialled") {
  Result<Listener> listener = listen_tcp(loopback(0), 0);
  REQUIRE(listener.ok());
  const SocketAddress address = loopback(listener->port);
  Acceptor acceptor(std::move(listener->fd), secret_of(1), 42);
  std::vector<ProvedStream> taken;
  std::atomic<bool> done = false;
  // Busy until attempts at all addresses are under way (each starts 250 ms after the one before).
  std::thread server([&] {
    std::this_thread::sleep_for(Milliseconds(600));
    while (!done) {
      acceptor.advance(Clock::now(), taken);
      std::this_thread::sleep_for(Milliseconds(1));
    }
  });
  const auto stream = dial({address, address, address}, secret_of(1), claim_of(7), "rank 9",
                           {.deadline = Deadline::after(Milliseconds(4000))});
  std::this_thread::sleep_for(Milliseconds(50));
  done = true;
  server.join();
  REQUIRE(stream.ok());
  REQUIRE(taken.size() == 1);
  CHECK(taken[0].session_key == stream->session_key);
}

TEST_CASE("A connection that is dropped after the proof was sent is dialled again") {
  Result<Listener> listener = listen_tcp(loopback(0), 0);
  REQUIRE(listener.ok());
  std::atomic<int> dropped = 0;
  std::vector<ProvedStream> taken;
  std::thread server([&, fd = std::move(listener->fd)]() mutable {
    // As an acceptor does that is overloaded: it answers the first hello, and then gives the connection up.
    pollfd polled{fd.get(), POLLIN, 0};
    if (poll(&polled, 1, 4000) != 1) return;
    const Fd first(accept4(fd.get(), nullptr, nullptr, SOCK_CLOEXEC));
    ProofServer proof(secret_of(1), 42, Nonce{});
    std::array<std::byte, kHelloBytes + kProofBytes> buffer{};
    for (size_t got = 0; got < buffer.size() && proof.state() == ProofState::more;) {
      const ssize_t more = recv(first.get(), buffer.data(), buffer.size(), 0);
      if (more <= 0) return;
      got += proof.feed(ByteView(buffer).first(static_cast<size_t>(more)));
      const ByteView answer = proof.take_answer();
      if (!answer.empty() && send(first.get(), answer.data(), answer.size(), MSG_NOSIGNAL) <= 0) return;
    }
    shutdown(first.get(), SHUT_RDWR);
    ++dropped;
    Acceptor acceptor(std::move(fd), secret_of(1), 42);
    const Deadline limit = Deadline::after(Milliseconds(4000));
    while (taken.empty() && !limit.passed()) {
      acceptor.advance(Clock::now(), taken);
      std::this_thread::sleep_for(Milliseconds(1));
    }
  });
  const auto stream = dial_one(loopback(listener->port), 3, Milliseconds(4000));
  server.join();
  CHECK(dropped == 1);
  REQUIRE(stream.ok());
  REQUIRE(taken.size() == 1);
  CHECK(taken[0].session_key == stream->session_key);
}

TEST_CASE("Errors of dialling list each address with its reason") {
  const Result<Listener> gone = listen_tcp(loopback(0), 0);
  REQUIRE(gone.ok());
  const uint16_t free_port = gone->port;
  const_cast<Fd&>(gone->fd).reset();
  const Time start = Clock::now();
  const auto stream = dial({loopback(free_port), *SocketAddress::parse("::1", free_port)}, secret_of(1), claim_of(0),
                           "rank 9", {.deadline = Deadline::after(Milliseconds(4000))});
  REQUIRE_FALSE(stream.ok());
  CHECK(stream.status().code() == rondePeerUnreachable);
  CHECK_THAT(stream.status().message(), Catch::Contains("cannot reach rank 9") && Catch::Contains("127.0.0.1") &&
                                            Catch::Contains("[::1]") && Catch::Contains("Connection refused"));
  CHECK(seconds_since(start) < 1.0);
}

TEST_CASE("A refused connection is tried again where that was asked for") {
  Result<Listener> listener = listen_tcp(loopback(0), 0);
  const uint16_t port = listener->port;
  listener->fd.reset();
  const auto timed_out = dial({loopback(port)}, secret_of(1), claim_of(0), "the root",
                              {.deadline = Deadline::after(Milliseconds(300)), .retry_refused = true});
  REQUIRE_FALSE(timed_out.ok());
  CHECK(timed_out.status().code() == rondeTimedOut);

  std::atomic<bool> done = false;
  std::thread late([&] {
    std::this_thread::sleep_for(Milliseconds(300));
    Result<Listener> again = listen_tcp(loopback(0), port);
    if (!again.ok()) return;
    Acceptor acceptor(std::move(again->fd), secret_of(1), 42);
    std::vector<ProvedStream> proved;
    while (!done) {
      acceptor.advance(Clock::now(), proved);
      std::this_thread::sleep_for(Milliseconds(5));
    }
  });
  const auto stream = dial({loopback(port)}, secret_of(1), claim_of(0), "the root",
                           {.deadline = Deadline::after(Milliseconds(4000)), .retry_refused = true});
  done = true;
  late.join();
  CHECK(stream.ok());
}

TEST_CASE("The first address that proves wins, whatever the others do") {
  // A listener that never answers, one that refuses, and the right one.
  const Result<Listener> silent = listen_tcp(loopback(0), 0);
  Result<Listener> gone = listen_tcp(loopback(0), 0);
  gone->fd.reset();
  Server server;
  const Time start = Clock::now();
  const auto stream = dial({loopback(silent->port), loopback(gone->port), server.address()}, secret_of(1), claim_of(1),
                           "rank 9", {.deadline = Deadline::after(Milliseconds(4000))});
  REQUIRE(stream.ok());
  CHECK(peer_text(stream->fd.get()) == server.address().text());
  CHECK(seconds_since(start) < 2.0);
}

TEST_CASE("A wrong secret is an error that says so") {
  Server server;
  const auto stream = dial_one(server.address(), 1, Milliseconds(4000), 2);
  REQUIRE_FALSE(stream.ok());
  CHECK_THAT(stream.status().message(), Catch::Contains("does not know the secret"));
  server.stop();
  CHECK(server.streams.empty());
}

TEST_CASE("A listener that never answers costs the deadline, and the error says what it did") {
  const Result<Listener> silent = listen_tcp(loopback(0), 0);
  const auto stream = dial_one(loopback(silent->port), 1, Milliseconds(300));
  REQUIRE_FALSE(stream.ok());
  CHECK(stream.status().code() == rondeTimedOut);
  CHECK_THAT(stream.status().message(), Catch::Contains("connected, but no answer to the proof"));
}

TEST_CASE("case_23_strangers: silent, garbage, HTTP and closing connections do not keep ranks out") {
  Server server;
  std::vector<Fd> strangers;
  const std::string garbage(4096, '\x5a');
  const std::string request = "GET / HTTP/1.1\r\nHost: x\r\n\r\n";
  std::atomic<bool> scanned = false;
  std::thread scanner([&] {
    for (int i = 0; i < 200; ++i) {
      Fd fd(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
      const SocketAddress address = server.address();
      if (connect(fd.get(), address.system(), address.system_size()) != 0) continue;
      if (i % 4 == 1) (void)!send(fd.get(), garbage.data(), garbage.size(), MSG_NOSIGNAL);
      if (i % 4 == 2) (void)!send(fd.get(), request.data(), request.size(), MSG_NOSIGNAL);
      if (i % 4 != 3) strangers.push_back(std::move(fd));
    }
    scanned = true;
  });
  const Time start = Clock::now();
  int in = 0;
  std::vector<ProvedStream> kept;
  for (uint32_t rank = 0; rank < 8; ++rank) {
    Result<ProvedStream> stream = dial_one(server.address(), rank, Milliseconds(4500));
    if (!stream.ok()) continue;
    ++in;
    kept.push_back(std::move(*stream));
  }
  scanner.join();
  CHECK(in == 8);
  CHECK(seconds_since(start) < 3.0);
  while (server.proved() < 8 && seconds_since(start) < 4.0) std::this_thread::yield();
  server.stop();
  CHECK(server.streams.size() == 8);
}

TEST_CASE("case_24_strangers_cost_nothing: garbage is dropped at once, a slow one at the limit") {
  Result<Listener> listener = listen_tcp(loopback(0), 0);
  const SocketAddress address = loopback(listener->port);
  Acceptor acceptor(std::move(listener->fd), secret_of(1), 42);
  std::vector<ProvedStream> proved;
  const Fd garbage = connect_blocking(address);
  const Fd silent = connect_blocking(address);
  REQUIRE(send(garbage.get(), "\xff\xff\xff\xff", 4, MSG_NOSIGNAL) == 4);
  Time now = Clock::now();
  std::this_thread::sleep_for(Milliseconds(20));
  acceptor.advance(now, proved);
  CHECK(closed_within(garbage.get(), Milliseconds(1000)));
  CHECK_FALSE(closed_within(silent.get(), Milliseconds(20)));
  CHECK(acceptor.next_deadline().time() == now + Milliseconds(5000));
  acceptor.advance(now + Milliseconds(5000), proved);  // the clock is the caller's
  CHECK(closed_within(silent.get(), Milliseconds(1000)));
  CHECK(proved.empty());
}

TEST_CASE("case_24_half_open: not more than 64 unproved connections are held; the oldest gives way") {
  Result<Listener> listener = listen_tcp(loopback(0), 0);
  const SocketAddress address = loopback(listener->port);
  Acceptor acceptor(std::move(listener->fd), secret_of(1), 42);
  std::vector<ProvedStream> proved;
  std::vector<Fd> silent;
  for (int i = 0; i < 70; ++i) silent.push_back(connect_blocking(address));
  const Time now = Clock::now();
  for (int i = 0; i < 5; ++i) acceptor.advance(now, proved);
  CHECK_FALSE(closed_within(silent[0].get(), Milliseconds(10)));  // all are young
  for (int i = 0; i < 5; ++i) acceptor.advance(now + Milliseconds(100), proved);
  for (size_t i = 0; i < 6; ++i) CHECK(closed_within(silent[i].get(), Milliseconds(500)));
  CHECK_FALSE(closed_within(silent[6].get(), Milliseconds(10)));
}

}  // namespace ronde
