// Of the suite: what passes over a link, driven by hand in one thread.
#include <algorithm>
#include <catch2/catch.hpp>

#include "conformance/transport_suite.h"

namespace ronde::testing {
namespace {

// Two ranks, joined.
struct Joined {
  explicit Joined(const TransportUnderTest& subject) : world(subject, 2) {
    REQUIRE(world.reach_all().ok());
    const Status status = world.connect_all();
    INFO(status.message());
    REQUIRE(status.ok());
  }
  LinkWorld world;
};

SliceHead head_of(uint32_t slice, size_t bytes) { return {3, 0xabcdef01, slice, static_cast<uint32_t>(bytes)}; }

std::vector<size_t> sizes_for(size_t slice_bytes) {
  return {0, 1, 63, 64, 65, slice_bytes / 2, slice_bytes - 1, slice_bytes};
}

// Fills the link until it takes no more for a while; how many slices it took.
uint32_t fill(SendPort& port, const std::vector<std::byte>& payload) {
  constexpr uint32_t kMost = 2000;  // 256 MiB: no link holds that much
  uint32_t sent = 0;
  for (int refused = 0; refused < 300 && sent < kMost; ++refused) {
    port.advance();
    std::byte* memory = port.acquire();
    if (memory == nullptr) continue;
    std::copy(payload.begin(), payload.end(), memory);
    port.commit(head_of(sent++, payload.size()));
    refused = 0;
  }
  return sent;
}

bool take(ReceivePort& port, SendPort& other_end, uint32_t slice, const std::vector<std::byte>& payload) {
  const std::byte* found = nullptr;
  const SliceHead head = head_of(slice, payload.size());
  if (receive_slice(port, other_end, head, &found) != Arrival::here) return false;
  const bool equal = std::equal(payload.begin(), payload.end(), found);
  port.release(head);
  return equal;
}

}  // namespace

TEST_CASE("slices of all sizes arrive whole, on ring and pair links, both ways") {
  for (const TransportUnderTest& subject : transports_under_test()) {
    INFO(subject.name);
    Joined joined(subject);
    for (const LinkKind kind : {LinkKind::ring, LinkKind::pair}) {
      for (const int from : {0, 1}) {
        SendPort& out = joined.world.sender(kind, from, 1 - from);
        ReceivePort& in = joined.world.receiver(kind, from, 1 - from);
        uint32_t slice = 0;
        for (const size_t bytes : sizes_for(out.slice_bytes())) {
          CAPTURE(bytes, from);
          const std::vector<std::byte> payload = pattern(bytes, slice + static_cast<uint32_t>(from));
          REQUIRE(send_slice(out, head_of(slice, bytes), payload));
          REQUIRE(take(in, out, slice, payload));
          ++slice;
        }
        CHECK(out.idle());
        CHECK(out.traffic().payload == in.traffic().payload);
        CHECK(out.traffic().heads == slice * sizeof(SliceHead));
      }
    }
  }
}

TEST_CASE("memory of a link is aligned and stays the same until it is committed") {
  for (const TransportUnderTest& subject : transports_under_test()) {
    INFO(subject.name);
    Joined joined(subject);
    SendPort& out = joined.world.sender(LinkKind::ring, 0, 1);
    std::byte* memory = nullptr;
    while (memory == nullptr) memory = out.acquire();
    CHECK(reinterpret_cast<uintptr_t>(memory) % kCacheLine == 0);
    CHECK(out.acquire() == memory);
    memory[0] = std::byte{5};
    out.commit(head_of(0, 1));
    ReceivePort& in = joined.world.receiver(LinkKind::ring, 0, 1);
    const std::byte* found = nullptr;
    REQUIRE(receive_slice(in, out, head_of(0, 1), &found) == Arrival::here);
    const std::byte* again = nullptr;
    REQUIRE(receive_slice(in, out, head_of(0, 1), &again) == Arrival::here);
    CHECK(found == again);
    CHECK(found[0] == std::byte{5});
  }
}

TEST_CASE("nothing arrives before it is sent, and an unexpected slice is told with its head") {
  for (const TransportUnderTest& subject : transports_under_test()) {
    INFO(subject.name);
    const SliceHead expected = head_of(0, 200);
    const std::vector<SliceHead> others = {
        {expected.sequence, expected.digest + 1, 0, 200},  // another operation
        {expected.sequence, expected.digest, 0, 120},      // cut differently
        {expected.sequence, expected.digest, 0, 204},
        {expected.sequence - 1, expected.digest, 0, 200},  // an operation that has ended here
    };
    for (const SliceHead& other : others) {
      CAPTURE(other.sequence, other.digest, other.bytes);
      Joined joined(subject);
      SendPort& out = joined.world.sender(LinkKind::ring, 0, 1);
      ReceivePort& in = joined.world.receiver(LinkKind::ring, 0, 1);
      const std::byte* found = nullptr;
      for (int i = 0; i < 5; ++i) CHECK(in.receive(expected, &found) == Arrival::none);
      REQUIRE(send_slice(out, other, pattern(other.bytes, 1)));
      REQUIRE(receive_slice(in, out, expected, &found) == Arrival::unexpected);
      CHECK(in.head() == other);
      CHECK(in.broken() == nullptr);
    }
  }
}

TEST_CASE("a link takes only so much before the receiver releases, loses nothing, and goes on") {
  LinkKind kind = LinkKind::pair;
  for (const TransportUnderTest& subject : transports_under_test()) {
    kind = kind == LinkKind::pair ? LinkKind::ring : LinkKind::pair;  // by turns: a TCP link holds megabytes
    INFO(subject.name);
    Joined joined(subject);
    SendPort& out = joined.world.sender(kind, 0, 1);
    ReceivePort& in = joined.world.receiver(kind, 0, 1);
    const std::vector<std::byte> payload = pattern(out.slice_bytes(), 3);
    const uint32_t sent = fill(out, payload);
    CHECK(sent >= 2);
    REQUIRE(sent < 2000);
    for (uint32_t slice = 0; slice < sent; ++slice) REQUIRE(take(in, out, slice, payload));
    REQUIRE(send_slice(out, head_of(sent, payload.size()), payload));
    REQUIRE(take(in, out, sent, payload));
  }
}

TEST_CASE("slices can be sent from the caller's memory, and are idle once they have left it") {
  for (const TransportUnderTest& subject : transports_under_test()) {
    INFO(subject.name);
    Joined joined(subject);
    SendPort& out = joined.world.sender(LinkKind::pair, 1, 0);
    ReceivePort& in = joined.world.receiver(LinkKind::pair, 1, 0);
    if (!out.by_reference()) continue;
    uint32_t slice = 0;
    for (const size_t bytes : sizes_for(out.slice_bytes())) {
      CAPTURE(bytes);
      std::vector<std::byte> payload = pattern(bytes + 1, slice);  // from an odd address
      const std::vector<std::byte> sent(payload.begin() + 1, payload.end());
      while (!out.send_by_reference(head_of(slice, bytes), payload.data() + 1)) out.advance();
      REQUIRE(take(in, out, slice, sent));
      while (!out.idle()) out.advance();
      std::fill(payload.begin(), payload.end(), std::byte{0});
      ++slice;
    }
  }
}

TEST_CASE("slices can be received into the caller's memory, and nothing beside it is written") {
  for (const TransportUnderTest& subject : transports_under_test()) {
    INFO(subject.name);
    Joined joined(subject);
    SendPort& out = joined.world.sender(LinkKind::ring, 1, 0);
    ReceivePort& in = joined.world.receiver(LinkKind::ring, 1, 0);
    if (!in.into_place()) continue;
    uint32_t slice = 0;
    for (const size_t bytes : sizes_for(out.slice_bytes())) {
      CAPTURE(bytes);
      const std::vector<std::byte> payload = pattern(bytes, slice);
      REQUIRE(send_slice(out, head_of(slice, bytes), payload));
      std::vector<std::byte> target(bytes + 2, std::byte{0xee});
      Arrival arrival = Arrival::none;
      const Deadline deadline = Deadline::after(kTestLimit);
      while (arrival == Arrival::none && !deadline.passed()) {
        out.advance();
        arrival = in.receive_into(head_of(slice, bytes), target.data() + 1);
      }
      REQUIRE(arrival == Arrival::here);
      in.release(head_of(slice, bytes));
      CHECK(std::equal(payload.begin(), payload.end(), target.begin() + 1));
      CHECK(target.front() == std::byte{0xee});
      CHECK(target.back() == std::byte{0xee});
      ++slice;
    }
  }
}

TEST_CASE("a receiver may change between its memory and the caller's from slice to slice") {
  for (const TransportUnderTest& subject : transports_under_test()) {
    INFO(subject.name);
    Joined joined(subject);
    SendPort& out = joined.world.sender(LinkKind::ring, 0, 1);
    ReceivePort& in = joined.world.receiver(LinkKind::ring, 0, 1);
    if (!in.into_place()) continue;
    std::vector<std::byte> target(5000);
    for (uint32_t slice = 0; slice < 30; ++slice) {
      const std::vector<std::byte> payload = pattern(slice * 150, slice);
      REQUIRE(send_slice(out, head_of(slice, payload.size()), payload));
      if (slice % 3 != 0) {
        REQUIRE(take(in, out, slice, payload));
        continue;
      }
      const SliceHead head = head_of(slice, payload.size());
      const Deadline deadline = Deadline::after(kTestLimit);
      while (in.receive_into(head, target.data()) != Arrival::here && !deadline.passed()) out.advance();
      in.release(head);
      REQUIRE(std::equal(payload.begin(), payload.end(), target.begin()));
    }
  }
}

TEST_CASE("a link whose other end is gone is broken, and its text names the rank") {
  for (const TransportUnderTest& subject : transports_under_test()) {
    if (!subject.notices_closing) continue;
    INFO(subject.name);
    {
      Joined joined(subject);
      joined.world[0].links.clear();
      ReceivePort& in = joined.world.receiver(LinkKind::ring, 0, 1);
      const std::byte* found = nullptr;
      Arrival arrival = Arrival::none;
      const Deadline deadline = Deadline::after(kTestLimit);
      while (arrival == Arrival::none && !deadline.passed()) arrival = in.receive(head_of(0, 10), &found);
      REQUIRE(arrival == Arrival::broken);
      REQUIRE(in.broken() != nullptr);
      CHECK(in.broken()->code() == rondePeerLost);
      CHECK_THAT(in.broken()->message(), Catch::Contains("rank 0"));
      CHECK(in.receive(head_of(0, 10), &found) == Arrival::broken);
    }
    Joined joined(subject);
    joined.world[1].links.clear();
    SendPort& out = joined.world.sender(LinkKind::ring, 0, 1);
    const std::vector<std::byte> payload = pattern(out.slice_bytes(), 1);
    const Deadline deadline = Deadline::after(kTestLimit);
    for (uint32_t slice = 0; out.broken() == nullptr && !deadline.passed(); ++slice) {
      out.advance();
      if (out.acquire() != nullptr) out.commit(head_of(slice, payload.size()));
    }
    REQUIRE(out.broken() != nullptr);
    CHECK(out.broken()->code() == rondePeerLost);
    CHECK_THAT(out.broken()->message(), Catch::Contains("rank 1"));
  }
}

TEST_CASE("what was sent before a goodbye still arrives") {
  for (const TransportUnderTest& subject : transports_under_test()) {
    INFO(subject.name);
    Joined joined(subject);
    SendPort& out = joined.world.sender(LinkKind::ring, 0, 1);
    ReceivePort& in = joined.world.receiver(LinkKind::ring, 0, 1);
    const std::vector<std::byte> payload = pattern(3000, 5);
    REQUIRE(send_slice(out, head_of(0, payload.size()), payload));
    const Deadline deadline = Deadline::after(kTestLimit);
    while (!out.idle() && !deadline.passed()) out.advance();
    std::unique_ptr<SendPort> gone;
    for (MadeLink& link : joined.world[0].links) {
      if (link.send.get() == &out) gone = std::move(link.send);
    }
    SendPort nobody;
    gone.reset();
    REQUIRE(take(in, nobody, 0, payload));
  }
}

}  // namespace ronde::testing
