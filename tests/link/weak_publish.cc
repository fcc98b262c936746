// Two threads and a SlotRing. Built twice: as the library is, and with RONDE_PLANTED_WEAK_PUBLISH, by which publish()
// orders nothing; then the thread sanitizer must report a data race on the slots. Only headers: the library itself is
// never built with the planted fault.
#include <cstdio>
#include <memory>
#include <thread>

#include "link/slot_ring.h"

namespace {

constexpr ronde::SlotGeometry kGeometry{2, 256};
constexpr uint32_t kSlices = 5'000;

struct alignas(ronde::kCacheLine) Memory {
  std::byte slots[kGeometry.total_bytes()];
  ronde::SharedCounter tail;
  ronde::SharedCounter head;
};

}  // namespace

int main() {
  const auto memory = std::make_unique<Memory>();
  ronde::SlotSender sender(kGeometry, memory->slots, &memory->tail, &memory->head);
  ronde::SlotReceiver receiver(kGeometry, memory->slots, &memory->tail, &memory->head);
  std::thread thread([&] {
    for (uint32_t i = 0; i < kSlices; ++i) {
      std::byte* slot = nullptr;
      while ((slot = sender.acquire()) == nullptr) std::this_thread::yield();
      slot[0] =
          static_cast<std::byte>(i % 251);  // not memset: what the compiler makes of that the sanitizer may not see
      sender.commit({1, 2, i, static_cast<uint32_t>(kGeometry.payload_bytes)});
    }
  });
  uint32_t wrong = 0;
  for (uint32_t i = 0; i < kSlices; ++i) {
    const std::byte* slot = nullptr;
    while ((slot = receiver.peek()) == nullptr) std::this_thread::yield();
    if (receiver.head().slice != i || slot[0] != static_cast<std::byte>(i % 251)) ++wrong;
    receiver.release();
  }
  thread.join();
  std::printf("%u slices, %u wrong\n", kSlices, wrong);
  return wrong == 0 ? 0 : 1;
}
