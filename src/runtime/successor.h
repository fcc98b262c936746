// The communicator of the ranks that are left: who they are, and where they meet. What is agreed here a new communicator is
// started from, as from any id.
#pragma once

#include <atomic>
#include <memory>
#include <set>

#include "base/event_loop.h"
#include "bootstrap/rendezvous.h"
#include "control/control.h"

namespace ronde {

// One shrink at a time: taken by the rank that begins one, until that has ended or will not come about.
class ShrinkTurn {
 public:
  explicit ShrinkTurn(std::shared_ptr<std::atomic<bool>> taken) : taken_(std::move(taken)) {}
  ~ShrinkTurn() { end(); }
  ShrinkTurn(const ShrinkTurn&) = delete;
  ShrinkTurn& operator=(const ShrinkTurn&) = delete;
  void end();

 private:
  std::shared_ptr<std::atomic<bool>> taken_;
};

// What it takes of the communicator before; may outlive it.
struct Predecessor {
  std::shared_ptr<Control> control;
  Secret secret{};
  uint32_t rank = 0;
  uint32_t nranks = 0;
  std::shared_ptr<ShrinkTurn> turn;
};

struct Succession {
  UniqueId id;
  std::vector<uint32_t> members;  // ranks of the predecessor, rising: the place of each is its new rank
  int rank = 0;                   // of this process
};

// See Control::shrink. meeting: for the rank in whose process the others meet.
Result<Succession> agree_on_succession(EventLoop& loop, const Predecessor& predecessor,
                                       const std::set<uint32_t>& without, const RendezvousOptions& meeting,
                                       Deadline deadline);

// Of a rank that has ended between the two agreements.
[[nodiscard]] Status ended_meanwhile(uint32_t rank);

// Whether the communicator has started on all members: then all go on with it, else none does. After each agreement on a
// succession, also on one that failed (`agreed`); started: what the start has come to on this rank, which is returned if it
// is no success.
Status agree_on_start(const Predecessor& predecessor, const std::set<uint32_t>& without,
                      const Result<Succession>& agreed, const Status& started, Deadline deadline, const OnceFlag* stop);

}  // namespace ronde
