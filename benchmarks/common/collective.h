// What a *_perf program adds to the harness: its operation, its bandwidth factor and what the right result is.
#pragma once

#include <ronde/ronde.h>

#include <cstddef>
#include <vector>

namespace perf {

// One size of one collective. Counts are elements.
struct Shape {
  std::size_t bytes = 0;  // column "size"
  std::size_t count = 0;  // column "count", the argument of the call
  std::size_t send_count = 0;
  std::size_t recv_count = 0;
  std::size_t in_place_send = 0;  // where in the receive buffer the input lies in place; for rank r, r times this
};

struct Call {
  const void* send;
  void* recv;
  std::size_t count;
  rondeDataType_t type;
  rondeRedOp_t op;
  int root;
  rondeComm_t comm;
  rondeStream_t stream;
};

// A stretch of the right result: what rank `input_of` gave, or the reduction over all ranks.
struct Segment {
  static constexpr int kReduced = -1;
  int input_of = kReduced;
  std::size_t first = 0;  // place in that input or reduction
  std::size_t count = 0;
};

class Collective {
 public:
  virtual ~Collective() = default;

  virtual const char* program() const = 0;      // "allreduce_perf"
  virtual const char* description() const = 0;  // for --help
  virtual const char* function() const = 0;     // "rondeAllReduce", for messages
  virtual bool reduces() const = 0;             // has a reduction

  // The shape whose size column is the greatest that is not above bytes.
  virtual Shape shape(std::size_t bytes, std::size_t element_bytes, int nranks) const = 0;

  // Bus bandwidth is size / time times this: the bytes that the busiest place of a ring moves.
  virtual double bus_factor(int nranks) const = 0;

  virtual rondeResult_t start(const Call& call) const = 0;

  // What the receive buffer of rank must hold, from its first element on; adds up to recv_count.
  virtual std::vector<Segment> expected(const Shape& shape, int rank, int nranks, int root) const = 0;
};

// The whole program: reads the command line, runs, reports, and returns the exit code.
int perf_main(const Collective& collective, int argc, const char* const* argv);

}  // namespace perf
