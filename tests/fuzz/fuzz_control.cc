// Messages of the control plane, after the frame: any neighbour may be wild.
#include <fmt/format.h>

#include "control/control_machine.h"

// Each message: one byte of length, then its bytes.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  ronde::Time now = ronde::Time() + std::chrono::hours(1);
  ronde::ControlMachine machine(
      0, 4, [](uint32_t rank) { return fmt::format("rank {}", rank); },
      [](uint32_t sequence) {
        return ronde::Whereabouts{3, ronde::CallNote{sequence, 1, "AllReduce"}};
      });
  for (const uint32_t peer : {1u, 2u, 3u}) machine.linked(peer);
  machine.waiting({3, 1, "AllReduce"}, ronde::WaitReason::long_wait, now);
  machine.begin_shrink({}, now);
  for (ronde::ByteView left = std::as_bytes(std::span(data, size)); !left.empty();) {
    const size_t length = std::min(static_cast<size_t>(left[0]), left.size() - 1);
    machine.received(1, left.subspan(1, length), now);
    left = left.subspan(1 + length);
    now += ronde::Milliseconds(100);
    machine.advance(now);
    static_cast<void>(machine.take_messages());
    static_cast<void>(machine.take_late_notes());
  }
  return 0;
}
