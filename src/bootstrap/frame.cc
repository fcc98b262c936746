#include "bootstrap/frame.h"

#include <algorithm>

namespace ronde {
namespace {

Mac frame_mac(const Key& key, Direction direction, uint64_t counter, ByteView head, const Digest& digest) {
  Writer prefix;
  prefix.number(direction).number(counter);
  return hmac_sha256_of_parts(key, {prefix.view(), head, digest});
}

}  // namespace

Frame FrameSealer::seal(SharedMessage message) {
  Frame frame;
  Writer length;
  length.number(static_cast<uint32_t>(message->bytes.size()));
  std::copy_n(length.view().begin(), kFrameHeadBytes, frame.head.begin());
  frame.mac = frame_mac(key_, direction_, counter_++, frame.head, message->digest);
  frame.message = std::move(message);
  return frame;
}

bool FrameOpener::feed(ByteView bytes, std::vector<Bytes>& messages) {
  if (*problem_ != '\0') return false;
  while (!bytes.empty()) {
    size_t wanted = kFrameHeadBytes;
    size_t length = 0;
    if (frame_.size() >= kFrameHeadBytes) {
      length = Reader(frame_).number<uint32_t>();
      wanted += length + sizeof(Mac);
    }
    const size_t step = std::min(bytes.size(), wanted - frame_.size());
    frame_.insert(frame_.end(), bytes.begin(), bytes.begin() + static_cast<ptrdiff_t>(step));
    bytes = bytes.subspan(step);
    if (frame_.size() < wanted) return true;
    if (wanted == kFrameHeadBytes) {
      if (Reader(frame_).number<uint32_t>() > most_bytes_) return refuse("a message was longer than any can be");
      continue;
    }
    const ByteView all(frame_);
    const ByteView payload = all.subspan(kFrameHeadBytes, length);
    const Mac right = frame_mac(key_, direction_, counter_++, all.first(kFrameHeadBytes), sha256(payload));
    if (!equal_in_constant_time(right, all.last(sizeof(Mac))))
      return refuse("a message was altered or repeated on its way");
    messages.emplace_back(payload.begin(), payload.end());
    frame_ = {};
  }
  return true;
}

bool FrameOpener::refuse(const char* why) {
  problem_ = why;
  frame_ = {};
  return false;
}

}  // namespace ronde
