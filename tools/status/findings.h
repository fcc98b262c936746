// The communicators of a host as its black boxes show them, and what holds them up. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "status/scan.h"

namespace ronde::status {

// A rank and the process that it lives, or lived, in.
struct StatusRank {
  RecordedRank recorded;
  pid_t pid = 0;  // of one that has ended: as it saw itself
  ProcessState state = ProcessState::ended;
  std::string host;
  std::string program;
};

struct StatusCommunicator {
  uint64_t job = 0;
  std::string name;
  uint32_t nranks = 0;
  std::vector<StatusRank> ranks;  // those on this host, by rank
};

// By the ranks that are in use; all: also those that are destroyed, and those of processes that have ended alone.
std::vector<StatusCommunicator> communicators_of(const std::vector<FoundProcess>& processes, bool all);

// Its last operation; null: none yet.
[[nodiscard]] const RecordedOperation* last_operation(const StatusRank& rank);
// Whether nothing moves in that.
[[nodiscard]] bool waits(const StatusRank& rank);
[[nodiscard]] bool starts(const StatusRank& rank);
[[nodiscard]] bool shrinks(const StatusRank& rank);

// Sentences that tell what ended a communicator or holds it up: "ranks 0-2 wait in ... for rank 3, which has not called
// it". None if nothing does, as far as can be seen from this host.
[[nodiscard]] std::vector<std::string> findings(const StatusCommunicator& communicator, Time now);

}  // namespace ronde::status
