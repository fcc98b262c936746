// Makes the connections of outgoing links one after the other, on a thread of its own that runs only while there are
// some to be made.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "base/authenticated_stream.h"
#include "link/transport.h"

namespace ronde {

class TcpDialler {
 public:
  // All connections of a link to a peer. Blocks; called on the thread.
  using Dial = std::function<Result<std::vector<ProvedStream>>(int peer, const DialOptions& options)>;

  TcpDialler(Dial dial, OwnMemory own) : dial_(std::move(dial)), own_(std::move(own)) {}
  // Gives up what is on its way, and waits for the thread.
  ~TcpDialler();
  TcpDialler(const TcpDialler&) = delete;
  TcpDialler& operator=(const TcpDialler&) = delete;

  // Both by the thread that drives the communicator; see Endpoint::request and take.
  void request(int peer, Deadline deadline, const OnceFlag* failed);
  std::optional<Result<std::vector<ProvedStream>>> take(int peer);

 private:
  using Outcome = std::optional<Result<std::vector<ProvedStream>>>;
  struct Request {
    int peer;
    Milliseconds limit;  // from the dial on: those before it in the queue may take theirs
    const OnceFlag* failed;
    Outcome* outcome;  // in outcomes_
  };

  Status start_thread();
  void run();
  [[nodiscard]] Result<std::vector<ProvedStream>> dial(const Request& request) const;

  const Dial dial_;
  const OwnMemory own_;
  OnceFlag stop_;

  std::mutex mutex_;
  std::deque<Request> queue_;
  std::map<int, Outcome> outcomes_;  // by peer, from request() to take()
  bool running_ = false;
  std::thread thread_;  // of the thread that drives the communicator
};

}  // namespace ronde
