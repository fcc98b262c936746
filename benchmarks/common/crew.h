// The threads of one process: starts them, watches the time limit, and makes sure that the process ends when one fails.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "common/progress.h"

namespace perf {

struct CrewOptions {
  std::string program;
  int threads = 1;
  int first_rank = 0;
  int ranks_per_thread = 1;
  int timeout_seconds = 0;  // 0: none
};

// Runs work(thread, progress) in each thread and returns the messages of the threads that failed: work returns an empty
// string when it has not. A thread that fails must have told the other ranks; those that have not ended a while later,
// and all when a phase takes longer than the limit, end the process with exit code 1 and a message on stderr.
std::vector<std::string> run_crew(const CrewOptions& options,
                                  const std::function<std::string(int thread, Progress* progress)>& work);

}  // namespace perf
