// One rank's process as its agent holds it: how it is started and what connects it. Decides nothing.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/fd.h"
#include "base/status.h"
#include "ronderun/process.h"
#include "ronderun/protocol.h"
#include "ronderun/reactor.h"

namespace ronde::launcher {

struct Rank {
  int rank = 0;
  pid_t pid = -1;
  bool running = false;
  Fd out;    // reading ends of its standard output
  Fd error;  // and standard error
  Fd black_box;

  Fd& stream(int number) { return number == 1 ? out : error; }
};

// The writing end of a rank's standard input, with what does not fit the pipe yet. Without blocking.
class InputPipe {
 public:
  explicit InputPipe(Reactor& reactor) : reactor_(reactor) {}
  void open(Fd end, std::function<void(size_t)> taken);  // taken: so many bytes are off our hands
  void write(ByteView bytes);                            // where there is no reader: dropped
  void finish();                                         // end of file after what was written
  void close();

 private:
  void write_some();

  Reactor& reactor_;
  Fd end_;
  std::function<void(size_t)> taken_;
  Bytes waiting_;
  bool finish_ = false;
};

// What all ranks of an agent have in common.
struct RankPlan {
  const Job& job;
  std::string path;                      // of the program
  std::vector<std::string> environment;  // without what differs from rank to rank
  const Inherited& inherited;
};

// Starts the rank with this number among those of the host; it reads from `input`. exec_error: the errno that exec
// gave; or `failed` says what else went wrong.
struct StartedRank {
  Rank rank;
  int exec_error = 0;
  Status failed;
};
StartedRank start_rank(const RankPlan& plan, uint32_t local_rank, int input);

// This process's environment and what the job adds. Variables by which a launcher tells a rank its place are left out.
std::vector<std::string> merge_environment(char* const* own, const std::vector<std::string>& added);

}  // namespace ronde::launcher
