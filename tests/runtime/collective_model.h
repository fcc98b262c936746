// Collectives of every kind with inputs whose results are exact in every type and by every algorithm, and what these
// results are.
#pragma once

#include <cstdint>
#include <functional>
#include <memory_resource>
#include <string>
#include <vector>

#include "runtime/communicator.h"
#include "support/world.h"

namespace ronde::testing {

struct CollectiveCall {
  Collective what = Collective::all_reduce;
  size_t count = 0;  // elements of the buffer, or of a block; with uneven blocks the unit of their sizes
  DataType type = rondeFloat32;
  RedOp op = rondeSum;
  int root = 0;
  bool uneven = false;
  bool in_place = false;
  size_t misaligned = 0;  // bytes by which buffers miss a cache line
};

[[nodiscard]] std::string text_of(const CollectiveCall& call);

// The buffers of one rank for one call, with guards around each.
class CollectiveBuffers {
 public:
  // memory: where the two buffers come from.
  CollectiveBuffers(const CollectiveCall& call, int rank, int nranks,
                    std::pmr::memory_resource* memory = std::pmr::get_default_resource());

  [[nodiscard]] OperationArgs args();
  // Ok if the result is exact, and nothing else has changed.
  [[nodiscard]] Status check() const;

 private:
  using Blocks = std::vector<schedule::Range>;
  // Where the blocks lie that a rank gives, and gets. One block where there is only one.
  [[nodiscard]] Blocks given_by(int rank) const;
  [[nodiscard]] Blocks taken_by(int rank) const;
  [[nodiscard]] size_t size_between(int from, int to) const;  // of the block, elements
  [[nodiscard]] double expected(size_t block, size_t index) const;
  [[nodiscard]] bool takes_part_as_root() const;
  void lay_out();
  void fill();

  CollectiveCall call_;
  int rank_;
  int nranks_;
  Blocks given_;
  Blocks taken_;
  bool shares_memory_ = false;  // in place: send and receive buffer are in output_
  std::pmr::vector<std::byte> input_;
  std::pmr::vector<std::byte> output_;
  size_t input_at_ = 0;   // where the send buffer begins, in input_ or output_
  size_t output_at_ = 0;  // where the receive buffer begins, in output_
  std::pmr::vector<std::byte> input_before_;
  std::pmr::vector<std::byte> output_before_;
};

// Runs the calls one after the other on all ranks; ok if all results are exact. memory: of a rank's buffers; null: any.
Status run_collectives(World& world, const std::vector<CollectiveCall>& calls,
                       const std::function<std::pmr::memory_resource*(int rank)>& memory = nullptr);

// Every kind with some counts, types, reductions, roots and places, by turns that start at `turn`.
std::vector<CollectiveCall> mixed_collectives(int nranks, size_t turn, size_t largest_count);

}  // namespace ronde::testing
