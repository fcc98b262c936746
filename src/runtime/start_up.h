// Communicators that come into being on threads of their own, for callers who do not want to wait for the other ranks.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <set>
#include <thread>

#include "runtime/communicator.h"
#include "runtime/failure.h"

namespace ronde {

class StartUps;

// One of them. Any thread, except for construction and end.
class StartUp {
 public:
  // Blocks until the communicator is made, or at most 1 s more once `stop` is set.
  using Make = std::function<Result<std::unique_ptr<Communicator>>(const std::shared_ptr<FailureState>& stop)>;

  // rondeSystemError: there is no thread.
  static Result<std::unique_ptr<StartUp>> begin(StartUps& all, Make make);
  // Gives it up if it has not ended, and waits for its thread.
  ~StartUp();
  StartUp(const StartUp&) = delete;
  StartUp& operator=(const StartUp&) = delete;

  // rondeInProgress; ok: it is made; else why it is not.
  [[nodiscard]] Status status() const;
  // Once status() is ok, once.
  std::unique_ptr<Communicator> take();
  // Gives it up: status() becomes `why` soon, unless it has ended before.
  void abort(const Status& why) { stop_->set(why); }

 private:
  friend class StartUps;
  explicit StartUp(StartUps& all) : all_(all) {}
  void run(const Make& make);
  void end();

  StartUps& all_;
  const std::shared_ptr<FailureState> stop_ = std::make_shared<FailureState>();
  mutable std::mutex mutex_;
  Status status_{rondeInProgress, "the communicator is not ready yet; rondeCommGetAsyncError tells when it is"};
  std::unique_ptr<Communicator> made_;
  std::mutex joining_;
  std::thread thread_;
};

// All of a process that are not destroyed: none may run on when the process's other parts end.
class StartUps {
 public:
  StartUps() = default;
  ~StartUps();
  StartUps(const StartUps&) = delete;
  StartUps& operator=(const StartUps&) = delete;

 private:
  friend class StartUp;
  std::mutex mutex_;
  std::set<StartUp*> all_;
};

}  // namespace ronde
