// Worlds of ranks for the situations in this folder: ranks that are threads of one process, or processes.
//
// The test's own process never calls the library: all ranks live in forked children, so that any number of worlds can
// follow one another, and one that hangs is ended at its deadline.
#pragma once

#include <ronde/ronde.h>

#include <functional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace ronde::cases {

// How the ranks of a world live, move bytes and call.
struct Way {
  std::string name;
  bool threads = false;            // all ranks in one process
  std::string transport = "auto";  // RONDE_TRANSPORT
  std::string algorithm = "auto";  // RONDE_ALGO
  bool on_stream = false;          // calls name a stream, which is then synchronized
};

// What every situation runs over unless it says otherwise: each value of each column at least once, not the product.
const std::vector<Way>& pairwise_ways();
// The same and each algorithm over each transport that it can use.
const std::vector<Way>& all_paths();

// Ends the body of a rank: something is not as it should be.
class Unexpected : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// Throws Unexpected unless the condition holds.
void expect(bool condition, const std::string& what);
// The same with the library's text for a result that is not success.
void expect_success(rondeResult_t result, const std::string& what);

// One rank inside its world; used by its own thread.
class Rank {
 public:
  Rank(int number, int nranks, rondeComm_t comm, rondeStream_t stream)
      : number_(number), nranks_(nranks), comm_(comm), stream_(stream) {}

  [[nodiscard]] int number() const { return number_; }
  [[nodiscard]] int nranks() const { return nranks_; }
  [[nodiscard]] rondeComm_t comm() const { return comm_; }

  // An allreduce as the way calls it, to its end. Returns the first result that is not success.
  rondeResult_t all_reduce(const void* send, void* receive, size_t count, rondeDataType_t type, rondeRedOp_t op);

  // These bytes must be equal on all ranks of the world; compared when all have ended.
  void must_be_equal_everywhere(const void* bytes, size_t size);
  [[nodiscard]] uint64_t digest() const { return digest_; }

 private:
  int number_;
  int nranks_;
  rondeComm_t comm_;
  rondeStream_t stream_;
  uint64_t digest_ = 0;
};

struct World {
  Way way;
  int nranks = 2;
  std::vector<std::pair<std::string, std::string>> settings = {};  // of the environment
  int deadline_s = 60;                                             // for the whole world
  std::function<void()> before = {};                               // in each process, before it calls the library
  std::function<void()> after = {};                                // in each process, after its ranks were destroyed
};

using Body = std::function<void(Rank&)>;

// Makes the world, runs body on each rank, destroys the communicators. Returns "" if every process ended with exit code
// 0 in time, no rank found anything unexpected, and the digests are equal; else what happened, one line a rank.
// A body may end its process with _exit.
std::string run_ranks(const World& world, const Body& body);

}  // namespace ronde::cases
