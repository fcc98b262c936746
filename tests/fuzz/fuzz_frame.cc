// Frames, as they come in pieces from a connection. None of these inputs can carry the right MAC.
#include <algorithm>
#include <cstdlib>

#include "bootstrap/frame.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  ronde::FrameOpener opener(ronde::Key{}, ronde::Direction::to_server, 4096);
  std::vector<ronde::Bytes> messages;
  ronde::ByteView left = std::as_bytes(std::span(data, size));
  const size_t step = size == 0 ? 1 : 1 + data[0] % 64;
  while (!left.empty()) {
    const size_t now = std::min(step, left.size());
    if (!opener.feed(left.first(now), messages)) break;
    left = left.subspan(now);
  }
  if (!messages.empty()) std::abort();
  return 0;
}
