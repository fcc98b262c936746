// What a *_perf program adds to the harness: its operation, its bandwidth factor and what the right result is.
#pragma once

#include <ronde/ronde.h>

#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

namespace perf {

// The root of programs that have none.
inline constexpr int kNoRoot = -1;

// What a program is, in words and in what it can do.
struct Facts {
  const char* program = "";      // "allreduce_perf"
  const char* description = "";  // for --help
  const char* function = "";     // "rondeAllReduce", for messages
  const char* size = "";         // column "size" in words, for --help
  const char* bus_factor = "";   // bus_factor() in words, for --help
  bool reduces = false;          // has a reduction: -o
  bool has_root = false;
  bool in_place = true;  // can work in place
  bool replays = false;  // takes --sizes-from: works on `count` elements of each buffer, all ranks get the result
  bool at_once = false;  // calls of one group run at the same time, so each needs buffers of its own
  const char* own_flag = nullptr;  // "--matrix", a flag of this program alone; its value goes to take_own_flag
  const char* own_flag_help = "";
};

// One size of one collective. Counts are elements, the greatest of all ranks where ranks differ.
struct Shape {
  std::size_t bytes = 0;  // column "size"
  std::size_t count = 0;  // column "count", the argument of the call
  std::size_t send_count = 0;
  std::size_t recv_count = 0;
  // In place both buffers of rank r lie in one, r times these behind its beginning.
  std::size_t in_place_send = 0;
  std::size_t in_place_recv = 0;
};

struct Call {
  const void* send;
  void* recv;
  std::size_t count;
  rondeDataType_t type;
  rondeRedOp_t op;
  int root;
  int rank;
  int nranks;
  int round;  // of those that an operation takes
  bool in_place;
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

  virtual Facts facts() const = 0;

  // The value of own_flag, once, before all that follows. Returns why it is refused, else an empty string.
  virtual std::string take_own_flag(const std::string& /*value*/) { return {}; }

  // The number of ranks, once, before all that follows. Returns why they are too many, too few or of a wrong number,
  // else an empty string.
  virtual std::string take_ranks(int /*nranks*/) { return {}; }

  // The shape whose size column is the greatest that is not above bytes.
  virtual Shape shape(std::size_t bytes, std::size_t element_bytes, int nranks) const = 0;

  // Bus bandwidth is size / time times this: the bytes that the busiest place of a ring moves.
  virtual double bus_factor(int nranks) const = 0;

  // The bytes that this rank sends or receives at least, whichever is more.
  virtual double ideal_bytes(const Shape& shape, std::size_t /*element_bytes*/, int /*rank*/, int nranks,
                             int /*root*/) const {
    return static_cast<double>(shape.bytes) * bus_factor(nranks);
  }

  // An operation is made of as many rounds; a round needs the results of the one before, so a group holds one of them.
  virtual int rounds(int /*nranks*/) const { return 1; }

  virtual rondeResult_t start(const Call& call) const = 0;

  // Elements that this rank gives, from the beginning of its send buffer on: 0 where that is not looked at.
  virtual std::size_t gives(const Shape& shape, int /*rank*/, int /*nranks*/, int /*root*/) const {
    return shape.send_count;
  }

  // What the receive buffer of rank must hold, from its first element on. Nothing else is written.
  virtual std::vector<Segment> expected(const Shape& shape, int rank, int nranks, int root) const = 0;
};

// `count` elements from place `first` on of what each rank gave, in rank order.
inline std::vector<Segment> part_of_each(int nranks, std::size_t first, std::size_t count) {
  std::vector<Segment> segments;
  segments.reserve(static_cast<std::size_t>(nranks));
  for (int rank = 0; rank < nranks; ++rank) segments.push_back({rank, first, count});
  return segments;
}

// Elements of each of as many equal blocks as there are ranks; `blocks` of them make up at most `bytes`.
inline std::size_t block_count(std::size_t bytes, std::size_t element_bytes, int blocks) {
  return bytes / element_bytes / static_cast<std::size_t>(std::max(blocks, 1));
}

// What a rank gives to, or gets from, an operation on equal blocks, one for each rank.
enum class Blocks { kOne, kAll };

// The shape of such an operation. In place, a rank's one block is its own place among all.
inline Shape shape_of_blocks(std::size_t bytes, std::size_t element_bytes, int nranks, Blocks gives, Blocks gets) {
  const std::size_t count = block_count(bytes, element_bytes, nranks);
  const std::size_t all = count * static_cast<std::size_t>(nranks);
  return {.bytes = all * element_bytes,
          .count = count,
          .send_count = gives == Blocks::kOne ? count : all,
          .recv_count = gets == Blocks::kOne ? count : all,
          .in_place_send = gives == Blocks::kOne ? count : 0,
          .in_place_recv = gets == Blocks::kOne ? count : 0};
}

// What calls() starts, as one group. Returns its first error.
template <typename Calls>
rondeResult_t in_group(const Calls& calls) {
  if (const rondeResult_t result = rondeGroupStart(); result != rondeSuccess) return result;
  const rondeResult_t called = calls();
  const rondeResult_t ended = rondeGroupEnd();
  return called != rondeSuccess ? called : ended;
}

// The whole program: reads the command line, runs, reports, and returns the exit code.
int perf_main(Collective&& collective, int argc, const char* const* argv);

}  // namespace perf
