// Starting processes, and finding and signalling those that descend from this one. Knows nothing of ranks.
#pragma once

#include <sys/resource.h>
#include <sys/types.h>

#include <csignal>
#include <string>
#include <string_view>
#include <vector>

#include "base/host.h"

namespace ronde::launcher {

// What ronderun was given by its parent and changes for itself; the processes it starts get it back.
struct Inherited {
  sigset_t mask{};
  bool sigpipe_ignored = false;
  rlimit open_files{};
};

struct Launch {
  std::string path;
  std::vector<std::string> arguments;    // with the name
  std::vector<std::string> environment;  // all of it
  int in = -1, out = -1, error = -1;     // what becomes 0, 1 and 2; all above 2
  std::vector<int> kept;                 // further descriptors that stay open
  bool new_session = false;              // else a new process group
  int death_signal = 0;                  // what it gets when the calling thread ends; 0: nothing
};

// The process runs the program when this returns. error: an errno, 0 on success.
struct Launched {
  pid_t pid = -1;
  int error = 0;
};
Launched launch(const Launch& launch, const Inherited& inherited);

// As execvp searches. error: ENOENT or EACCES.
struct Program {
  std::string path;
  int error = 0;
};
Program find_program(const std::string& name, std::string_view search_path);

// Those below `root` in the tree of parents, zombies left out. Pure.
std::vector<ProcessStat> descendants_of(pid_t root, const std::vector<ProcessStat>& all);
// The same for this process, now.
std::vector<ProcessStat> descendants();
// Signals this very process, never another that has its number by now.
void signal_process(const ProcessStat& process, int number);

}  // namespace ronde::launcher
