// Who waits for whom, from what the black boxes of a host show. Pure.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "status/scan.h"

namespace ronde::status {

// A rank and the process that it lives, or lived, in.
struct StatusRank {
  RecordedRank recorded;
  pid_t pid = 0;
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

// Sentences that tell what holds a communicator up: "ranks 0-2 wait in ... for rank 3, which has not called it". None if
// nothing does, as far as can be seen from this host.
std::vector<std::string> findings(const StatusCommunicator& communicator);

std::string as_text(const std::vector<StatusCommunicator>& communicators, size_t operations, Time now);
std::string as_json(const std::vector<StatusCommunicator>& communicators, Time now);

}  // namespace ronde::status
