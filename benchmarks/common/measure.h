// Measures one size after the other on the ranks of one thread. Every thread of every process does the same in step.
#pragma once

#include <optional>
#include <vector>

#include "common/checked_run.h"
#include "common/collective.h"
#include "common/options.h"
#include "common/results.h"
#include "common/team.h"

namespace perf {

// How many times the greatest size each of a rank's two buffers must hold.
std::size_t buffer_share(const Collective& collective, const Options& options, int nranks);

class Measure {
 public:
  // Allocates and touches buffers for max_bytes. Throws LibraryError, std::bad_alloc.
  Measure(const Collective& collective, const Options& options, std::size_t max_bytes, std::optional<Flip> flip,
          Team& team);

  // Goes over to this type, reduction and root: fills buffers where values change, and runs the warm-up. Nothing if
  // they are selected already.
  void select(rondeDataType_t type, rondeRedOp_t op, int root);

  // Measures and checks one size. The row is the same on all ranks; counts of wrong values are over all ranks.
  Row run(std::size_t bytes);

  // Bytes that one operation of this size moves, by rank and transport.
  std::vector<CounterRow> count_traffic(std::size_t bytes);

  // Guard bytes and input elements that changed, over all ranks so far.
  std::uint64_t out_of_bounds() const { return out_of_bounds_; }

 private:
  struct Timing {
    double seconds = 0;      // of all iterations
    double cpu_seconds = 0;  // until the calls had returned
    std::vector<double> iterations;
  };

  Work work(const Shape& shape, bool in_place) const;
  void fill_buffers();
  void warm_up();
  Side run_side(const Shape& shape, bool in_place);
  Timing time(const Work& work);
  void iterate(const Work& work, int iteration);
  void average(Timing* timing);
  std::uint64_t check(const Work& work);

  const Collective& collective_;
  const Options& options_;
  Team& team_;
  std::size_t max_bytes_;
  rondeDataType_t type_ = rondeFloat32;
  rondeRedOp_t op_ = rondeSum;
  int root_ = kNoRoot;
  Buffers buffers_;
  Checker checker_;
  std::optional<Pattern> pattern_;  // of type_ and op_
  std::uint64_t out_of_bounds_ = 0;
};

}  // namespace perf
