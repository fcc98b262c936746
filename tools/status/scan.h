// Finds the black boxes of this user's processes on this host, through /proc.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "runtime/black_box_reader.h"

namespace ronde::status {

enum class ProcessState { lives, stopped, ended };

struct FoundProcess {
  BlackBoxRecording recording;
  pid_t pid = 0;  // as seen from here; 0 if it has ended: somebody else, such as ronderun, holds its box
  ProcessState state = ProcessState::ended;
};

// operations: at most so many of each rank. In the order of their numbers; boxes that cannot be read are left out.
std::vector<FoundProcess> find_processes(size_t operations);

// What processes that have ended left in those files (RONDE_TRACE_DIR), and the last moment that is recorded in any of them.
struct FoundFiles {
  std::vector<FoundProcess> processes;
  Time last_moment{};
  std::vector<std::string> problems;  // of files that are none, with their names
};
FoundFiles read_files(const std::vector<std::string>& paths, size_t operations);

// The innermost of the numbers in the NSpid line of /proc/PID/status: what the process itself takes for its number.
// Nothing if there is no such line. Pure.
std::optional<pid_t> own_pid_of(std::string_view proc_status);

}  // namespace ronde::status
