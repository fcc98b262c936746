// The one measuring loop for Ronde and its peers: allreduce of float32 sums, out of place.
//
// Time of an operation: the greatest over the ranks of (elapsed / operations), in blocks of some 40 ms; a line gives
// the median of the blocks. Every element of the result is checked, bit for bit, before and after.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace peers {

// What a library must be able to do to be measured. Used by one thread; one object a rank.
class Peer {
 public:
  virtual ~Peer() = default;
  [[nodiscard]] virtual int rank() const = 0;
  [[nodiscard]] virtual int nranks() const = 0;
  // Must have the sum in `out` when it returns. Ends the program if it cannot.
  virtual void all_reduce(const float* in, float* out, std::size_t count) = 0;
  // The two below are never timed.
  virtual void barrier() = 0;
  virtual double max_over_ranks(double value) = 0;
  virtual double sum_over_ranks(double value) = 0;
};

struct Options {
  std::string name;                                     // of the peer, for the output
  int nranks = 2;                                       // for peers that start their ranks themselves
  std::vector<std::size_t> sizes = {8, 4096, 1 << 20};  // bytes
  double seconds = 0.4;                                 // for the timed blocks of one size, at least
  bool rewrite = false;    // rewrite the inputs before every operation, and time each one alone
  std::string probe_file;  // shared by the ranks of the run; empty: no probe
};

// Reads the command line. Prints the help or the error and ends the program where there is nothing to run.
Options parse_options(int argc, char** argv, const std::string& default_name);

// Measures all sizes; rank 0 prints one JSON object a line. Returns the exit code: 1 if a result was wrong.
int measure(Peer& peer, const Options& options);

}  // namespace peers
