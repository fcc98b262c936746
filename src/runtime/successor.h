// The communicator of the ranks that are left: who they are, and where they meet. What is agreed here a new
// communicator is started from, as from any id.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <set>

#include "base/event_loop.h"
#include "base/secret.h"
#include "bootstrap/rendezvous.h"
#include "control/control.h"
#include "runtime/failure.h"

namespace ronde {

// One shrink at a time: taken by the rank that begins one, until that has ended or will not come about.
class ShrinkTurn {
 public:
  ShrinkTurn(std::shared_ptr<std::atomic<bool>> taken, LifeLog log) : taken_(std::move(taken)), log_(std::move(log)) {}
  ~ShrinkTurn() { end(); }
  ShrinkTurn(const ShrinkTurn&) = delete;
  ShrinkTurn& operator=(const ShrinkTurn&) = delete;
  // The shrink ends soon once `stop` is set.
  void begin(std::shared_ptr<FailureState> stop);
  void end();
  // Any thread: sets it.
  void give_up(const Status& why);

 private:
  std::mutex mutex_;
  std::shared_ptr<std::atomic<bool>> taken_;
  LifeLog log_;  // of the communicator before
  std::shared_ptr<FailureState> stop_;
  Status given_up_;
};

// What it takes of the communicator before; may outlive it.
struct Predecessor {
  std::shared_ptr<Control> control;
  Secret secret;
  uint32_t rank = 0;
  uint32_t nranks = 0;
  std::shared_ptr<ShrinkTurn> turn;
};

struct Succession {
  UniqueId id;
  std::vector<uint32_t> members;  // ranks of the predecessor, rising: the place of each is its new rank
  int rank = 0;                   // of this process
  std::vector<std::shared_ptr<OwnedRoot>> opened;  // by this rank, for the new communicator
};

// The first agreement: see Control::shrink. meeting: for the rank in whose process the others meet.
Result<Succession> agree_on_succession(EventLoop& loop, const Predecessor& predecessor,
                                       const std::set<uint32_t>& without, const RendezvousOptions& meeting,
                                       Deadline deadline);

// Of a rank that has ended between the two.
[[nodiscard]] Status ended_meanwhile(uint32_t rank);

// The second agreement, which follows each first one, however that has ended: whether the new communicator has started
// on all its members. Then all go on with it, else none does. One that is left without having been asked refuses.
class StartAgreement {
 public:
  StartAgreement(const Predecessor& predecessor, const std::set<uint32_t>& without)
      : predecessor_(predecessor), without_(without) {}
  ~StartAgreement();
  StartAgreement(const StartAgreement&) = delete;
  StartAgreement& operator=(const StartAgreement&) = delete;

  // It has started here. An error: not everywhere.
  Status reach(const std::vector<uint32_t>& members, Deadline deadline, const OnceFlag* stop);
  // It has not; why.
  void refuse(const Status& why);

 private:
  const Predecessor& predecessor_;
  const std::set<uint32_t>& without_;
  bool said_ = false;
};

}  // namespace ronde
