// Messages of the control plane, after the frame: any neighbour may be wild.
#include <fmt/format.h>

#include "control/control_machine.h"
#include "control/wait_text.h"

namespace {

// The rank waits in a collective, or in messages, and says for whom by what it hears.
void feed(ronde::ByteView input, const ronde::CallNote& wait) {
  ronde::Time now = ronde::Time() + std::chrono::hours(1);
  ronde::ControlMachine machine(
      0, 4, [](uint32_t rank) { return fmt::format("rank {}", rank); },
      [](uint32_t sequence) {
        return ronde::Whereabouts{3, ronde::CallNote{sequence, 1, "AllReduce"}};
      });
  for (const uint32_t peer : {1u, 2u, 3u}) machine.linked(peer);
  machine.waiting(wait, ronde::WaitReason::long_wait, now);
  machine.begin_shrink({}, now);
  for (ronde::ByteView left = input; !left.empty();) {
    const size_t length = std::min(static_cast<size_t>(left[0]), left.size() - 1);
    machine.received(1, left.subspan(1, length), now);
    left = left.subspan(1 + length);
    now += ronde::Milliseconds(100);
    machine.advance(now);
    static_cast<void>(machine.take_messages());
    static_cast<void>(machine.take_left());
    for (const ronde::LateNote& note : machine.take_late_notes())
      static_cast<void>(ronde::awaited_text(note, 0, wait.numbered, wait.sequence, "rank 1"));
  }
}

// A note, an inquiry or an answer by itself: what is read is written and read again alike, and fits a message.
template <typename Content, typename Encode>
void read_back(ronde::ByteView input, Encode encode) {
  ronde::Reader reader(input);
  Content content;
  if (!decode(reader, content)) return;
  const ronde::Bytes bytes = encode(content);
  ronde::Reader again(ronde::ByteView(bytes).subspan(1));
  if (!decode(again, content) || encode(content) != bytes) __builtin_trap();
}

}  // namespace

// Each message: one byte of length, then its bytes.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const ronde::ByteView input = std::as_bytes(std::span(data, size));
  feed(input, {3, 1, "AllReduce"});
  feed(input, {3, 1, "Recv", false, {2}, {1, 3}});
  read_back<ronde::CallNote>(input, [](const ronde::CallNote& call) { return ronde::encode_inquiry(call); });
  read_back<ronde::LateNote>(input, [](const ronde::LateNote& note) { return ronde::encode(note); });
  read_back<ronde::Answer>(input, [](const ronde::Answer& answer) { return ronde::encode(answer); });
  return 0;
}
