#include "transports/tcp/tcp_receiver.h"

#include <sys/socket.h>

#include <catch2/catch.hpp>
#include <cstring>

using ronde::Arrival;
using ronde::Fd;
using ronde::SliceHead;
using ronde::TcpReceiver;

namespace {

constexpr size_t kSlice = 4096;

struct Pair {
  Fd ours;
  Fd theirs;
};

Pair connected() {
  int fds[2];
  REQUIRE(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, fds) == 0);
  return {Fd(fds[0]), Fd(fds[1])};
}

void send_slice(const Fd& to, const SliceHead& head, char fill) {
  const std::string payload(head.bytes, fill);
  REQUIRE(send(to.get(), &head, sizeof head, 0) == sizeof head);
  REQUIRE(send(to.get(), payload.data(), payload.size(), 0) == static_cast<ssize_t>(payload.size()));
}

}  // namespace

TEST_CASE("the end of one connection does not hide what is unread on another") {
  Pair first = connected();
  Pair second = connected();
  const SliceHead slices[3] = {{1, 7, 0, 100}, {1, 7, 1, 100}, {1, 7, 2, 100}};
  send_slice(first.theirs, slices[0], 'a');
  send_slice(second.theirs, slices[1], 'b');
  send_slice(second.theirs, slices[2], 'c');
  first.theirs.reset();
  second.theirs.reset();
  std::vector<Fd> fds;
  fds.push_back(std::move(first.ours));
  fds.push_back(std::move(second.ours));
  TcpReceiver receiver(std::move(fds), kSlice, "rank 1");
  for (int i = 0; i < 3; ++i) {
    const std::byte* payload = nullptr;
    REQUIRE(receiver.receive(slices[i], &payload) == Arrival::here);
    CHECK(static_cast<char>(payload[99]) == static_cast<char>('a' + i));
    receiver.release();
  }
  const std::byte* payload = nullptr;
  CHECK(receiver.receive({1, 7, 3, 100}, &payload) == Arrival::broken);
  CHECK(receiver.broken().message().find("rank 1") != std::string::npos);
}

TEST_CASE("a later slice waits on its connection, another operation is unexpected") {
  Pair first = connected();
  Pair second = connected();
  std::vector<Fd> fds;
  fds.push_back(std::move(first.ours));
  fds.push_back(std::move(second.ours));
  TcpReceiver receiver(std::move(fds), kSlice, "rank 1");
  const std::byte* payload = nullptr;
  send_slice(second.theirs, {1, 7, 1, 8}, 'b');
  CHECK(receiver.receive({1, 7, 0, 8}, &payload) == Arrival::none);
  send_slice(first.theirs, {1, 7, 0, 8}, 'a');
  CHECK(receiver.receive({1, 7, 0, 8}, &payload) == Arrival::here);
  receiver.release();
  CHECK(receiver.receive({1, 7, 1, 8}, &payload) == Arrival::here);
  receiver.release();
  send_slice(first.theirs, {2, 9, 0, 8}, 'x');
  CHECK(receiver.receive({2, 7, 0, 8}, &payload) == Arrival::unexpected);
  CHECK(receiver.head().digest == 9);
}
