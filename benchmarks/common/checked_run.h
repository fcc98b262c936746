// One operation whose result is compared with the right one, element by element, on all ranks of a team.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "common/buffer.h"
#include "common/collective.h"
#include "common/environment.h"
#include "common/image.h"
#include "common/pattern.h"
#include "common/team.h"

namespace perf {

// Where the ranks of a team keep their data: one buffer each a rank, of at least the bytes of the greatest shape. In
// place both are the second one.
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

// Bytes of each buffer that the work takes.
std::size_t region_bytes(const Work& work);

// The call for rank i of the team with its data `offset` bytes into the buffers.
Call make_call(const Work& work, const Team& team, const Buffers& buffers, int i, std::size_t offset);

// Starts `calls` operations, the data of each offset(call) bytes into the buffers. Throws LibraryError.
template <typename Offset>
void start_operations(const Work& work, Team& team, const Buffers& buffers, int calls, const Offset& offset) {
  const char* function = work.collective.facts().function;
  const int rounds = work.collective.rounds(team.nranks());
  for (int round = 0; round < rounds; ++round) {
    team.start(function, calls, [&](int i, int number) {
      Call call = make_call(work, team, buffers, i, offset(number));
      call.round = round;
      return work.collective.start(call);
    });
  }
}

class Checker {
 public:
  Checker(Team& team, Buffers& buffers, std::optional<Flip> flip) : team_(team), buffers_(buffers), flip_(flip) {}

  // Fills inputs, poisons results, runs, compares. Returns the counts of this team alone.
  CheckCounts run(const Work& work, Pattern& pattern);

 private:
  enum class Moment { kBefore, kAfter };

  // What one rank's buffers hold; in place the first is empty.
  struct Images {
    Image send;
    Image recv;
  };

  Images images(const Work& work, Pattern& pattern, int rank, Moment moment) const;
  void cover_result(const Work& work, Pattern& pattern, int rank, Stretch::Kind kind, Image* image) const;
  void prepare(const Work& work, Pattern& pattern, int i);
  CheckCounts compare(const Work& work, Pattern& pattern, int i);
  void flip_byte(const Work& work, int i);

  Team& team_;
  Buffers& buffers_;
  std::optional<Flip> flip_;  // taken when used: one byte of one result
  std::size_t first_ = 0;     // place of the pattern where this run's data begin; differs from run to run
};

}  // namespace perf
