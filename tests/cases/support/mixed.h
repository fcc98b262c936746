// Operations of every kind whose results are known, drawn from random numbers so that all ranks draw the same ones.
#pragma once

#include <ronde/ronde.h>

#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

namespace ronde::cases {

enum class Kind {
  all_reduce,
  reduce_scatter,
  all_gather,
  broadcast,
  reduce,
  all_to_all,
  gather,
  scatter,
  barrier,
  messages,  // a send and a receive, in a group
  number_of_kinds
};
enum class Op { sum, max, bit_xor, pre_mul_sum, composition, number_of_ops };

// One rank of a communicator, with the reductions that it has made there. Used by its own thread.
class Member {
 public:
  explicit Member(rondeComm_t comm);
  ~Member();
  Member(const Member&) = delete;
  Member& operator=(const Member&) = delete;

  [[nodiscard]] rondeComm_t comm() const { return comm_; }
  [[nodiscard]] int rank() const { return rank_; }
  [[nodiscard]] int nranks() const { return nranks_; }
  [[nodiscard]] rondeRedOp_t reduction(Op op) const;

 private:
  rondeComm_t comm_;
  int rank_ = 0;
  int nranks_ = 0;
  rondeRedOp_t pre_mul_sum_{};
  rondeRedOp_t composition_{};
};

// What all ranks agree about.
struct Drawn {
  uint32_t number = 0;  // enters all values
  Kind kind = Kind::all_reduce;
  Op op = Op::sum;
  size_t count = 0;  // of a block, of uint32
  int root = 0;
  bool in_place = false;  // all-reduce and broadcast

  static Drawn draw(std::mt19937& random, int nranks);
};

// One rank's part of an operation; its buffers live until it has been checked.
class MixedOperation {
 public:
  MixedOperation(const Drawn& drawn, const Member& member);

  // Throws Unexpected if the call fails.
  void call(rondeStream_t stream);
  // After its end: every element is right, and nothing else was written. Throws Unexpected.
  void check() const;
  [[nodiscard]] std::string name() const;

 private:
  [[nodiscard]] size_t blocks_sent() const;
  [[nodiscard]] size_t elements_received() const;
  [[nodiscard]] uint32_t reduced(size_t index) const;
  [[nodiscard]] uint32_t expected(size_t index) const;
  [[nodiscard]] rondeResult_t begin(rondeStream_t stream);
  [[nodiscard]] rondeResult_t exchange(rondeStream_t stream);

  Drawn drawn_;
  const Member& member_;
  std::vector<uint32_t> send_;
  std::vector<uint32_t> receive_;
};

}  // namespace ronde::cases
