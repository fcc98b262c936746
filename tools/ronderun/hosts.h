// Which hosts take part, how many ranks each may have, and which ranks it gets. Pure; no sockets, no processes.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "bootstrap/messages.h"

namespace ronde::launcher {

// The most ranks of a job, and the most slots of a host.
inline constexpr int kMaxRanks = static_cast<int>(kMostRanks);

struct HostSlots {
  std::string host;
  int slots = 1;
  bool operator==(const HostSlots&) const = default;
};

// Ranks first_rank .. first_rank + count - 1 run on this host.
struct Placement {
  std::string host;
  bool local = false;
  int first_rank = 0;
  int count = 0;
  bool operator==(const Placement&) const = default;
};

// "node1:4,node2,[fd00::1]:2"; without a number a host has one slot, and one named again has the sum.
Result<std::vector<HostSlots>> parse_hosts(std::string_view text);
// A host a line: "node1 slots=4", "node1:4" or "node1"; # begins a comment. `name` is the file's, for messages.
Result<std::vector<HostSlots>> parse_hostfile(std::string_view name, std::string_view text);

// Fills the hosts in their order. nranks 0: as many as there are slots. Hosts that get no rank are left out; all names
// of this host (localhost, own_name, loopback addresses) are one local placement. rondeInvalidArgument: too few slots.
Result<std::vector<Placement>> place_ranks(int nranks, const std::vector<HostSlots>& hosts, std::string_view own_name);

}  // namespace ronde::launcher
