#include "link/slot_ring.h"

#include <catch2/catch.hpp>
#include <cstring>
#include <memory>
#include <thread>

#include "support/watchdog.h"

namespace ronde {
namespace {

constexpr uint32_t kPayload = 256;
constexpr uint32_t kNearHalf = 0x80000000u - 5'000;
constexpr uint32_t kNearFull = 0u - 5'000;

// The memory of one link.
struct Ring {
  Ring(uint32_t slots, uint32_t start) : geometry{slots, kPayload} {
    memory = std::make_unique_for_overwrite<Line[]>(geometry.total_bytes() / kCacheLine);
    store_before_publish(tail.value, start);
    store_before_publish(head.value, start);
  }
  [[nodiscard]] SlotSender sender() { return {geometry, memory[0].bytes, &tail, &head}; }
  [[nodiscard]] SlotReceiver receiver() { return {geometry, memory[0].bytes, &tail, &head}; }

  struct alignas(kCacheLine) Line {
    std::byte bytes[kCacheLine];
  };
  SlotGeometry geometry;
  std::unique_ptr<Line[]> memory;
  SharedCounter tail;
  SharedCounter head;
};

SliceHead head_of(uint32_t number) { return {7, 9, number, number % (kPayload + 1)}; }
std::byte fill_of(uint32_t number) { return static_cast<std::byte>(number % 251); }

// Waits for something that another thread does: mostly it is at work at this moment.
template <typename Look>
auto wait_for(Look look) {
  for (int tries = 0;; ++tries) {
    if (auto found = look()) return found;
    if (tries % 2000 == 1999) std::this_thread::yield();
  }
}

uint32_t receive_all(SlotReceiver receiver, uint32_t number_of_slices) {
  uint32_t wrong = 0;
  std::byte expected[kPayload];
  for (uint32_t number = 0; number < number_of_slices; ++number) {
    const std::byte* payload = wait_for([&] { return receiver.peek(); });
    const SliceHead head = receiver.head();
    std::memset(expected, static_cast<int>(fill_of(number)), sizeof expected);
    if (!(head == head_of(number)) || std::memcmp(payload, expected, head.bytes % (kPayload + 1)) != 0) ++wrong;
    receiver.release();
  }
  return wrong;
}

void send_all(SlotSender sender, uint32_t number_of_slices) {
  for (uint32_t number = 0; number < number_of_slices; ++number) {
    std::byte* payload = wait_for([&] { return sender.acquire(); });
    std::memset(payload, static_cast<int>(fill_of(number)), head_of(number).bytes);
    sender.commit(head_of(number));
  }
}

// Over the ends of the counters, too; a hundred thousand slices over all calls.
void pass_all(uint32_t slots) {
  constexpr uint32_t kSlices = 12'000;
  for (const uint32_t start : {0u, kNearHalf, kNearFull}) {
    CAPTURE(start);
    const testing::Watchdog watchdog("a slot ring between two threads", Milliseconds(60'000));
    Ring ring(slots, start);
    std::thread thread([sender = ring.sender()] { send_all(sender, kSlices); });
    const uint32_t wrong = receive_all(ring.receiver(), kSlices);
    thread.join();
    CHECK(wrong == 0);
    CHECK(ring.tail.value == start + kSlices);
    CHECK(ring.head.value == start + kSlices);
  }
}

}  // namespace

TEST_CASE("counters are compared by signed difference") {
  CHECK(reached(5, 5));
  CHECK(reached(6, 5));
  CHECK_FALSE(reached(4, 5));
  CHECK(reached(0x80000001u, 0x7fffffffu));
  CHECK_FALSE(reached(0x7fffffffu, 0x80000001u));
  CHECK(reached(2, 0xfffffffeu));
  CHECK_FALSE(reached(0xfffffffeu, 2));
}

TEST_CASE("a slot ring is empty, full and empty again, wherever its counters stand") {
  const auto slots = GENERATE(1u, 2u, 3u, 4u);
  const auto start = GENERATE(0u, 0x7ffffffeu, 0x7fffffffu, 0xfffffffdu, 0xfffffffeu, 0xffffffffu);
  CAPTURE(slots, start);
  Ring ring(slots, start);
  SlotSender sender = ring.sender();
  SlotReceiver receiver = ring.receiver();
  uint32_t sent = 0;
  uint32_t received = 0;
  for (int round = 0; round < 4; ++round) {
    CHECK(receiver.peek() == nullptr);
    for (uint32_t i = 0; i < slots; ++i) {
      std::byte* payload = sender.acquire();
      REQUIRE(payload != nullptr);
      CHECK(payload == sender.acquire());
      CHECK(reinterpret_cast<uintptr_t>(payload) % kCacheLine == 0);
      payload[0] = fill_of(sent);
      sender.commit(head_of(sent++));
    }
    CHECK(sender.acquire() == nullptr);
    for (uint32_t i = 0; i < slots; ++i) {
      const std::byte* payload = receiver.peek();
      REQUIRE(payload != nullptr);
      CHECK(payload == receiver.peek());
      CHECK(receiver.head() == head_of(received));
      CHECK(payload[0] == fill_of(received++));
      receiver.release();
    }
  }
}

TEST_CASE("one released slot makes room for exactly one") {
  const auto slots = GENERATE(2u, 3u, 4u);
  const auto start = GENERATE(0u, kNearHalf, 0u - 7);
  CAPTURE(slots, start);
  Ring ring(slots, start);
  SlotSender sender = ring.sender();
  SlotReceiver receiver = ring.receiver();
  uint32_t sent = 0;
  for (; sent < slots; ++sent) {
    REQUIRE(sender.acquire() != nullptr);
    sender.commit(head_of(sent));
  }
  for (uint32_t received = 0; received < 20; ++received) {
    REQUIRE(receiver.peek() != nullptr);
    REQUIRE(receiver.head() == head_of(received));
    CHECK(sender.acquire() == nullptr);
    receiver.release();
    REQUIRE(sender.acquire() != nullptr);
    sender.commit(head_of(sent++));
    CHECK(sender.acquire() == nullptr);
  }
}

TEST_CASE("slots of any size pass whole between two threads through 2 slots") { pass_all(2); }
TEST_CASE("slots of any size pass whole between two threads through 3 slots") { pass_all(3); }
TEST_CASE("slots of any size pass whole between two threads through 4 slots") { pass_all(4); }

}  // namespace ronde
