// Communicators that ranks of a world make out of its own, and operations on them whose results are known.
#pragma once

#include <ronde/ronde.h>

#include <string>

namespace ronde::cases {

// Owns a communicator; destroys it without asking for the result, as what has failed is destroyed, too.
class OwnedComm {
 public:
  OwnedComm() = default;
  ~OwnedComm() { rondeCommDestroy(comm_); }
  OwnedComm(OwnedComm&& other) noexcept : comm_(other.release()) {}
  OwnedComm& operator=(OwnedComm&&) = delete;
  rondeComm_t* operator&() { return &comm_; }     // NOLINT(google-runtime-operator): an output of the C API
  operator rondeComm_t() const { return comm_; }  // NOLINT(google-explicit-constructor)
  rondeComm_t release() {
    rondeComm_t comm = comm_;
    comm_ = nullptr;
    return comm;
  }
  void destroy();  // throws Unexpected unless it succeeds

 private:
  rondeComm_t comm_ = nullptr;
};

// Number and size, as expected; throws Unexpected otherwise.
void expect_place(rondeComm_t comm, int rank, int nranks, const std::string& what);
// All-reduces of several sizes, from a line to many pieces.
void expect_sums(rondeComm_t comm, const std::string& what);
// Waits until a communicator that starts in the background has started or failed.
rondeResult_t outcome_of_start(rondeComm_t comm);

}  // namespace ronde::cases
