// What all operations in progress share: their place in the sequence, how they end, how long they wait.
#pragma once

#include <string>

#include "base/settings.h"
#include "base/wait_loop.h"
#include "memory/reduce.h"
#include "plan/choose.h"
#include "runtime/agreement.h"
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
  Agreement* agreement = nullptr;
  SharedCounter* withdrawn = nullptr;  // of this rank, see SegmentWords; null: nobody reads its memory
};

class OperationTask : public Task {
 public:
  // args stay with the caller, as they are, until the task is gone.
  OperationTask(const OperationContext& context, const OperationArgs& args, uint32_t sequence,
                plan::Algorithm algorithm)
      : context_(context),
        args_(args),
        sequence_(sequence),
        digest_(is_numbered(args) ? context.agreement->log().chained(digest_of(args)) : digest_of(args)),
        record_(context.agreement->log().begin(args, sequence, digest_, algorithm)) {}
  virtual ~OperationTask() {
    // Before the buffers are the caller's again, which others may still read.
    if (!ended_well_ && context_.withdrawn != nullptr) withdraw(context_.withdrawn->value, 1);
    CallLog::end(record_, ended_well_ ? black_box::OperationState::ended : black_box::OperationState::failed);
    if (others_know_of_wait_) context_.agreement->resumed();
  }
  OperationTask(const OperationTask&) = delete;
  OperationTask& operator=(const OperationTask&) = delete;

  [[nodiscard]] uint32_t waits_for() const final { return waits_for_; }
  void check_patience(Time waiting_since, Time now) final;
  // After done.
  [[nodiscard]] const Status& status() const { return status_; }

 protected:
  // How far it is, for those who ask why it takes long.
  [[nodiscard]] virtual OperationProgress progress() const = 0;
  // The peers of sends and receives that have not ended, for the same: into the note's lists.
  virtual void list_peers(CallNote&) const {}

  [[nodiscard]] const OperationContext& context() const { return context_; }
  [[nodiscard]] const OperationArgs& args() const { return args_; }
  [[nodiscard]] uint32_t sequence() const { return sequence_; }
  [[nodiscard]] uint32_t digest() const { return digest_; }

  // Returns from advance() when the operation has ended well.
  Progress done();
  // Returns from advance() when nothing can be done: blocked, or done if the communicator has failed.
  Progress blocked_on(uint32_t waits_for, bool moved);
  // A link is broken. Another rank's death is told with its name by the watch, soon; this text is the last resort.
  Progress blocked_on_broken_link(const Status& why) { return blocked_until_verdict(why); }
  // Ends the communicator with an error that names this operation.
  Progress fail(rondeResult_t code, const std::string& cause);
  // The rank called something else, or cut it differently. What it was comes with the verdict, soon.
  Progress blocked_on_mismatch(int peer, uint32_t sequence, uint32_t digest);

 private:
  Progress blocked_until_verdict(const Status& last_resort);
  Progress end_with(const Status& status);
  void check_wait(Time::duration waited);
  bool check_goodbyes(Time now);
  void withdraw_wait();
  void tell_others_of_wait(WaitReason reason);
  [[nodiscard]] CallNote note_of_call() const;
  [[nodiscard]] std::string awaited() const;

  const OperationContext& context_;
  const OperationArgs& args_;
  uint32_t sequence_;
  uint32_t digest_;  // of a collective: with all before it
  black_box::OperationRecord& record_;
  uint32_t waits_for_ = kWaitsForAny;
  bool saw_failure_ = false;
  Time lost_since_{};     // when this operation learnt that a rank is lost
  bool gave_up_ = false;  // nothing came after that
  bool ended_well_ = false;
  Status status_;
  Status last_resort_;  // an error that awaits its verdict
  Time last_resort_since_{};
  Time last_check_{};
  Time::duration paused_{};  // time in which this process did not run: nobody's lateness
  Time::duration next_warning_{};
  bool others_know_of_wait_ = false;  // until the end of the operation
  bool told_of_wait_ = false;         // that it waits for long
  Time::duration asked_for_{};        // the others were asked where they are, for a warning or error due then
};

}  // namespace ronde
