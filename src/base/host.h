// Facts about the machine that tell ranks of one host from ranks of others.
#pragma once

#include <string>

namespace ronde {

// Names the running kernel; empty if the system does not tell. Equal on two ranks is a hint that they share a host, never
// a proof that they can share memory.
[[nodiscard]] std::string boot_id();

}  // namespace ronde
