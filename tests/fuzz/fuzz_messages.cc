// Messages of the meeting, after the frame: any member may be wild.
#include "bootstrap/messages.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const ronde::ByteView bytes = std::as_bytes(std::span(data, size));
  const auto try_decode = [bytes]<typename Message>(Message message) {
    ronde::Reader reader(bytes);
    static_cast<void>(decode(reader, message));
  };
  try_decode(ronde::JoinMessage());
  try_decode(ronde::TableMessage());
  ronde::Reader gift_reader(bytes);
  ronde::Bytes part;
  static_cast<void>(decode_gift(gift_reader, part));
  ronde::Reader ranks_reader(bytes);
  std::vector<uint32_t> ranks;
  static_cast<void>(decode_ranks(ranks_reader, ranks));
  ronde::Reader status_reader(bytes);
  ronde::Status status;
  static_cast<void>(decode_status(status_reader, status));
  return 0;
}
