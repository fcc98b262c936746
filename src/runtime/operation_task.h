// What all operations in progress share: their place in the sequence, how they end, how long they wait.
#pragma once

#include <functional>
#include <string>

#include "base/settings.h"
#include "base/wait_loop.h"
#include "memory/reduce.h"
#include "plan/choose.h"
#include "runtime/failure.h"
#include "runtime/operation.h"

namespace ronde {

// What an operation needs of its communicator. Lives as long as the communicator.
struct OperationContext {
  int rank = 0;
  int nranks = 1;
  std::string name;  // of the communicator, for messages
  const Settings* settings = nullptr;
  FailureState* failure = nullptr;
  std::function<void(const Status&)> tell_others;  // that this rank has failed, and why; does not block
};

class OperationTask : public Task {
 public:
  OperationTask(const OperationContext& context, const OperationArgs& args, uint32_t sequence)
      : context_(context), args_(args), sequence_(sequence), digest_(digest_of(args)) {}
  virtual ~OperationTask() = default;
  OperationTask(const OperationTask&) = delete;
  OperationTask& operator=(const OperationTask&) = delete;

  [[nodiscard]] uint32_t waits_for() const final { return waits_for_; }
  void check_patience(Time waiting_since, Time now) final;
  // After done.
  [[nodiscard]] const Status& status() const { return status_; }

 protected:
  [[nodiscard]] const OperationContext& context() const { return context_; }
  [[nodiscard]] const OperationArgs& args() const { return args_; }
  [[nodiscard]] uint32_t sequence() const { return sequence_; }
  [[nodiscard]] uint32_t digest() const { return digest_; }

  // Returns from advance() when nothing can be done: blocked, or done if the communicator has failed.
  Progress blocked_on(uint32_t waits_for, bool moved);
  // A link is broken. Another rank's death is told with its name by the watch, soon; this text is the last resort.
  Progress blocked_on_broken_link(const Status& why);
  // Ends the communicator with an error that names this operation.
  Progress fail(rondeResult_t code, const std::string& cause);
  // The rank called something else, or cut it differently.
  Progress fail_by_mismatch(int peer, uint32_t sequence, uint32_t digest);

 private:
  const OperationContext& context_;
  OperationArgs args_;
  uint32_t sequence_;
  uint32_t digest_;
  uint32_t waits_for_ = kWaitsForAny;
  bool saw_failure_ = false;
  Status status_;
  Status broken_link_;
  Time broken_since_{};
  Time last_check_{};
  Time::duration paused_{};  // time in which this process did not run: nobody's lateness
  Time::duration next_warning_{};
};

}  // namespace ronde
