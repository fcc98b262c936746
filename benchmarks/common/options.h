// The command line of all *_perf programs: names and defaults as in nccl-tests.
#pragma once

#include <ronde/ronde.h>

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "common/collective.h"

namespace perf {

// -r all
inline constexpr int kAllRoots = -1;

enum class Average { kRank0 = 0, kMean = 1, kMin = 2, kMax = 3 };
enum class Blocking { kOff = 0, kWaitAndBarrier = 1, kWait = 2, kWaitAndUntimedBarrier = 3 };

struct Options {
  int threads = 1;
  int ranks_per_thread = 1;
  std::size_t min_bytes = 32U << 20;
  std::size_t max_bytes = 32U << 20;
  std::size_t step_bytes = 1U << 20;
  int step_factor = 1;  // 0, 1: off, step_bytes counts
  int iterations = 20;
  int calls_per_iteration = 1;
  int warmup_iterations = 1;
  int cycles = 1;  // 0: for ever
  int checks = 1;  // checked runs a size
  std::vector<rondeRedOp_t> ops = {rondeSum};
  std::vector<rondeDataType_t> types = {rondeFloat32};
  int root = 0;  // or kAllRoots
  Blocking blocking = Blocking::kOff;
  bool null_stream = true;  // host memory: a call that blocks is the natural one
  int timeout_seconds = 0;  // 0: off
  bool report_cpu_time = false;
  bool report_timestamps = false;
  std::string json_file;
  Average average = Average::kMean;
  int unalign_elements = 0;
  int library_memory = 0;  // not 0: buffers are the library's
  bool per_iteration = false;
  int per_iteration_skip = 0;
  bool counters = false;
  std::string sizes_from;
  std::string own_flag;  // the value of the program's own flag, if it has one
};

// The sizes that -b, -e, -i and -f name, in order.
std::vector<std::size_t> sizes_of(const Options& options);

// What the command line asked for: options to run with, or a text to print and an exit code.
struct CommandLine {
  std::optional<Options> options;
  int exit_code = 0;
  std::string help;   // for stdout
  std::string error;  // for stderr
};

// The roots to run with, of nranks: one after the other for -r all, kNoRoot for a program that has none.
std::vector<int> roots_of(const Options& options, const Facts& facts, int nranks);

// Exit codes: 0 after --help, 2 for a wrong argument.
CommandLine parse_command_line(const Facts& facts, int argc, const char* const* argv);

}  // namespace perf
