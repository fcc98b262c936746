// Worlds of ranks as threads of this program: each rank has a communicator of its own, all share one Process.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "runtime/communicator.h"
#include "runtime/process.h"
#include "support/watchdog.h"

namespace ronde::testing {

struct WorldOptions {
  int nranks = 2;
  // Beside: sockets on the loopback interface only, IPv4.
  std::vector<std::pair<std::string, std::string>> settings;
  std::function<std::vector<std::unique_ptr<Transport>>()> transports;  // null: those that are built in
  bool real_root = false;                                               // ranks meet at a root over TCP, not in memory
  uint32_t counters_start = 0;
  Milliseconds init_limit{20'000};
  Milliseconds limit{100'000};  // the program is aborted if the world lives longer
};

// Settings of a rank in a test: the given ones, and nothing beyond the loopback interface. Aborts on a wrong one.
Settings test_settings(const std::vector<std::pair<std::string, std::string>>& settings);

// Whether all are ok; else the first that is not, with its rank.
Status first_failure(const std::vector<Status>& statuses);

class World {
 public:
  // Makes the communicators; made() says how that ended.
  explicit World(const WorldOptions& options);
  ~World();
  World(const World&) = delete;
  World& operator=(const World&) = delete;

  [[nodiscard]] int nranks() const { return options_.nranks; }
  [[nodiscard]] const std::vector<Status>& made() const { return made_; }
  Process& process() { return *process_; }
  Communicator& operator[](int rank) { return *communicators_[static_cast<size_t>(rank)]; }
  // Ends one rank as its owner would.
  void destroy(int rank) { communicators_[static_cast<size_t>(rank)].reset(); }

  // Runs the body once for each rank, in a thread of its own; statuses by rank.
  std::vector<Status> run(const std::function<Status(Communicator&)>& body);

 private:
  Status make(int rank, const CommunicatorOptions& common, std::unique_ptr<Rendezvous> rendezvous);
  Status make_at_root(int rank, const CommunicatorOptions& common, const UniqueId& id);

  WorldOptions options_;
  Watchdog watchdog_;
  std::unique_ptr<Process> process_;
  std::vector<std::unique_ptr<Communicator>> communicators_;  // by rank
  std::vector<Status> made_;
};

// Runs the function once for each number in a thread of its own; what they return, by number.
std::vector<Status> in_threads(int count, const std::function<Status(int)>& function);

}  // namespace ronde::testing
