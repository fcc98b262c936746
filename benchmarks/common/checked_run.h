// One operation whose result is compared with the right one, element by element, on all ranks of a team.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "common/buffer.h"
#include "common/collective.h"
#include "common/environment.h"
#include "common/pattern.h"
#include "common/team.h"

namespace perf {

// Where the ranks of a team keep their data: one buffer each a rank, of at least the bytes of the greatest shape.
struct Buffers {
  std::vector<Buffer> send;
  std::vector<Buffer> recv;
};

// A kind of operation, and the buffers for it.
struct Work {
  const Collective& collective;
  const Shape& shape;
  rondeDataType_t type;
  rondeRedOp_t op;
  int root;
  bool in_place;
};

// The call for rank i of the team with its data `offset` bytes into the buffers.
Call make_call(const Work& work, const Team& team, const Buffers& buffers, int i, std::size_t offset);

struct CheckCounts {
  std::uint64_t wrong = 0;
  std::uint64_t out_of_bounds = 0;
};

class Checker {
 public:
  Checker(Team& team, Buffers& buffers, std::optional<Flip> flip) : team_(team), buffers_(buffers), flip_(flip) {}

  // Fills inputs, poisons results, runs, compares. Returns the counts of this team alone.
  CheckCounts run(const Work& work, Pattern& pattern);

 private:
  void prepare(const Work& work, Pattern& pattern, int i);
  CheckCounts compare(const Work& work, Pattern& pattern, int i);
  void flip_byte(const Work& work, int i);

  Team& team_;
  Buffers& buffers_;
  std::optional<Flip> flip_;  // taken when used: one byte of one result
  std::size_t first_ = 0;     // place of the pattern where this run's data begin; differs from run to run
};

}  // namespace perf
