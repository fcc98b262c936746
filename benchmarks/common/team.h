// The ranks that one thread drives: their communicators and streams, and what they tell each other. A communicator is
// all that ranks share, so barriers and gathered numbers are allreduces of the library under test.
#pragma once

#include <ronde/ronde.h>

#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <vector>

#include "common/progress.h"

namespace perf {

// The library returned an error. A benchmark ends at the first one, so it is thrown to the one place that reports it.
class LibraryError : public std::runtime_error {
  using std::runtime_error::runtime_error;
};

// Used by one thread, which makes and destroys it.
class Team {
 public:
  // Ranks progress->first_rank() .. + size - 1 of nranks. Nothing is joined yet.
  Team(int size, int nranks, bool null_stream, Progress* progress);
  ~Team();
  Team(const Team&) = delete;
  Team& operator=(const Team&) = delete;

  // Joins the communicator with all ranks of this thread. This and all that follows throw LibraryError.
  void join(const rondeUniqueId& id);

  int size() const { return static_cast<int>(comms_.size()); }
  int nranks() const { return nranks_; }
  int rank(int i) const { return progress_->first_rank() + i; }
  bool is_root() const { return rank(0) == 0; }
  rondeComm_t comm(int i) const { return comms_[static_cast<std::size_t>(i)]; }
  rondeStream_t stream(int i) const { return streams_[static_cast<std::size_t>(i)]; }

  // What rank i names in a call: for mulsum what select() has made, else op itself.
  rondeRedOp_t reduction(int i, rondeRedOp_t op) const;
  // Makes what it takes to reduce elements of this type with op; of mulsum there is one at a time.
  void select(rondeDataType_t type, rondeRedOp_t op);

  void enter(const char* phase, std::size_t bytes) { progress_->enter(phase, bytes); }

  // Waits until what was put on the streams has ended.
  void synchronize();

  // Returns when all ranks have called it.
  void barrier();

  // Replaces each value by its reduction over all teams; every team gives as many values. Sum, minimum or maximum.
  void reduce(std::vector<double>* values, rondeRedOp_t op);
  void sum(std::vector<std::uint64_t>* values);
  void sum(std::vector<unsigned char>* values);

  // Calls one(i, call) for each rank i of the team and each of `calls`, in one group if that makes more than one.
  // function is what one() calls, for messages.
  template <typename One>
  void start(const char* function, int calls, const One& one) {
    const bool group = calls > 1 || size() > 1;
    if (group) check(rondeGroupStart(), "rondeGroupStart");
    for (int call = 0; call < calls; ++call) {
      for (int i = 0; i < size(); ++i) check(one(i, call), function);
    }
    if (group) check(rondeGroupEnd(), function);
  }

  // Throws LibraryError with rank, phase, size and the library's own text, unless result is rondeSuccess.
  void check(rondeResult_t result, const char* call) const;

  // Tells the other ranks that this team gives up.
  void abort();

 private:
  void reduce_any(void* values, std::size_t count, std::size_t bytes, rondeDataType_t type, rondeRedOp_t op);

  const int nranks_;
  const bool null_stream_;
  Progress* const progress_;
  std::vector<rondeComm_t> comms_;
  std::vector<rondeStream_t> streams_;
  std::vector<rondeRedOp_t> mulsums_;  // empty, or one for each rank
};

}  // namespace perf
