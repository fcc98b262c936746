// What strangers send before anything is proved, to both sides.
#include <cstdlib>

#include "base/proof.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const ronde::ByteView bytes = std::as_bytes(std::span(data, size));
  ronde::ProofServer server(ronde::Secret{}, 7, ronde::Nonce{});
  for (ronde::ByteView left = bytes; !left.empty() && server.state() == ronde::ProofState::more;) {
    const size_t taken = server.feed(left);
    static_cast<void>(server.take_answer());
    if (taken == 0) break;
    left = left.subspan(taken);
  }
  ronde::ProofClient client(ronde::Secret{}, {.job = 7}, ronde::Nonce{});
  static_cast<void>(client.feed(bytes));
  if (server.state() == ronde::ProofState::proved || client.state() == ronde::ProofState::proved) std::abort();
  return 0;
}
