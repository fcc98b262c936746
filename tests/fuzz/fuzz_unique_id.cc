// Ids come from users: as bytes, and as text.
#include <cstdlib>
#include <cstring>

#include "bootstrap/unique_id.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  rondeUniqueId read{};
  static_cast<void>(ronde::id_from_text(text, read).ok());
  rondeUniqueId packed{};
  if (size > 0) std::memcpy(&packed, data, std::min(size, sizeof packed));
  const auto id = ronde::UniqueId::unpack(packed);
  if (!id.ok()) return 0;
  // What is accepted must survive a round trip.
  const rondeUniqueId again = id->pack();
  const auto twice = ronde::UniqueId::unpack(again);
  if (!twice.ok() || twice->port != id->port || twice->job != id->job || twice->secret != id->secret) std::abort();
  return 0;
}
