// Reads the black box of a process, alive or not, from its memory file, and says in words what it shows. Nothing in the
// file is trusted: its writer may be wild.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/deadline.h"
#include "base/status.h"
#include "plan/choose.h"
#include "runtime/black_box_layout.h"
#include "runtime/operation.h"

namespace ronde {

struct RecordedWait {
  std::optional<uint32_t> rank;  // nothing: for any
  uint32_t done = 0;             // parts of the operation, of `total`
  uint32_t total = 0;
};

struct RecordedOperation {
  uint32_t sequence = 0;
  uint32_t digest = 0;
  OperationArgs args;  // without the buffers
  plan::Algorithm algorithm = plan::Algorithm::automatic;
  black_box::OperationState state = black_box::OperationState::none;
  Time begun;
  Time ended;                        // if it has
  std::optional<RecordedWait> wait;  // of one that runs and stood still when the box was read
};

// One rank of a communicator.
struct RecordedRank {
  uint64_t job = 0;
  std::string name;  // of the communicator
  uint32_t rank = 0;
  uint32_t nranks = 0;
  bool in_use = false;                        // else it has been destroyed
  std::string failure;                        // text of its first error, if there was one
  std::vector<RecordedOperation> operations;  // the last one first
  black_box::Phase phase = black_box::Phase::working;
  Time phase_since{};
};

struct BlackBoxRecording {
  uint32_t pid = 0;  // as the process sees itself
  std::string host;
  std::string program;
  uint64_t start_time = 0;  // as in /proc/PID/stat
  std::vector<RecordedRank> ranks;
};

// Whether an entry of /proc/PID/fd is the file of a black box.
[[nodiscard]] bool is_black_box(const std::string& proc_entry);

// operations: at most so many of each rank, the last ones. rondeInvalidArgument: no black box, or one that is not
// written yet. rondeInvalidUsage: of another version.
Result<BlackBoxRecording> read_black_box(int fd, size_t operations, Time now);

// The last moment that is recorded in a black box; for one whose process has ended long ago, perhaps before the machine
// was started again: as of then it is to be read. Time(): none.
[[nodiscard]] Time last_moment_in(int fd);

// A box may be read a little after `to` was looked at: then 0.
[[nodiscard]] double seconds_between(Time from, Time to);

// "AllReduce (float32, sum, 1024 elements) number 7 by ring"
[[nodiscard]] std::string describe(const RecordedOperation& operation);
// What a rank does at this moment, or did when its process ended: "in AllReduce (...) number 7 by ring for 12.3 s, 40 %
// done, waits for rank 3"; "between operations; the last one, AllReduce (...) ..., ended 0.2 s ago"; "in
// rondeCommShrink for 1.0 s"; "in start-up for 3.1 s, waits for the meeting point or for other ranks".
[[nodiscard]] std::string describe_activity(const RecordedRank& rank, Time now);

}  // namespace ronde
