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

struct Found {
  std::vector<FoundProcess> processes;
  Time as_of{};                       // the moment that the boxes show
  std::vector<std::string> problems;  // why some cannot be shown, with the file or the process
};

// operations: at most so many of each rank. Processes in the order of their numbers.
Found find_processes(size_t operations);

// What processes that have ended left in those files, or folders of them (RONDE_TRACE_DIR); as of the last moment that
// is recorded in any of them.
Found read_files(const std::vector<std::string>& arguments, size_t operations);

// The innermost of the numbers in the NSpid line of /proc/PID/status: what the process itself takes for its number.
// Nothing if there is no such line. Pure.
std::optional<pid_t> own_pid_of(std::string_view proc_status);

}  // namespace ronde::status
