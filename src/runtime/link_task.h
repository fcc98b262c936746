// Executes a schedule of link steps (ring, star) on host memory, over whatever links the communicator has.
#pragma once

#include <array>
#include <span>
#include <vector>

#include "link/port.h"
#include "runtime/link_set.h"
#include "runtime/operation_task.h"
#include "schedule/partition.h"
#include "schedule/ring.h"
#include "schedule/slice_order.h"
#include "schedule/star.h"
#include "schedule/steps.h"

namespace ronde {

// Not a template: the schedule is asked once per step, through one virtual call, never per slice of bytes.
class LinkSchedule {
 public:
  virtual ~LinkSchedule() = default;
  [[nodiscard]] virtual int steps() const = 0;
  [[nodiscard]] virtual schedule::LinkStep step(int number) const = 0;
  [[nodiscard]] virtual bool chunk_per_rank() const = 0;
  [[nodiscard]] virtual bool partials_are_inputs() const = 0;
};

template <typename Schedule>
class LinkScheduleOf final : public LinkSchedule {
 public:
  LinkScheduleOf(int n, int position) : schedule_(n, position) {}
  [[nodiscard]] int steps() const override { return schedule_.steps(); }
  [[nodiscard]] schedule::LinkStep step(int number) const override { return schedule_.step(number); }
  [[nodiscard]] bool chunk_per_rank() const override { return Schedule::kChunkPerRank; }
  [[nodiscard]] bool partials_are_inputs() const override { return Schedule::kPartialsAreInputs; }

 private:
  Schedule schedule_;
};

class LinkTask final : public OperationTask {
 public:
  // links and schedule outlive the task. cut_bytes: a slice, in elements of the wider of user and wire type.
  LinkTask(const OperationContext& context, const OperationArgs& args, uint32_t sequence, const Reduction& reduction,
           const plan::Choice& choice, const LinkSchedule& schedule, LinkSet& links);

  Progress advance() override;

 private:
  [[nodiscard]] OperationProgress progress() const override;

  enum class Phase { receive, acquire, send, flush };
  enum class Outcome { go_on, wait, ended };

  Outcome receive();
  Outcome acquire();
  void compute();
  Outcome send();
  Outcome flush();
  void load_step();
  Outcome wait_for_rank(int position);

  void compute_received_final();
  void compute_reduced();
  [[nodiscard]] bool receives_into_place() const;
  [[nodiscard]] const void* reference_source() const;
  [[nodiscard]] size_t content_bytes(Content content) const;
  [[nodiscard]] SliceHead head(uint32_t slice, Content content) const;
  [[nodiscard]] int peer_at(const schedule::Peers& peers, int index) const;
  [[nodiscard]] const std::byte* input() const;
  [[nodiscard]] std::byte* output() const;

  const LinkSchedule& schedule_;
  LinkSet& links_;
  Reduction reduction_;
  size_t element_bytes_;
  size_t partial_bytes_;  // of one element of a partial result
  size_t slice_count_;    // elements
  bool streaming_;
  bool input_is_partial_;  // an own input can be sent as a partial result without conversion
  schedule::SliceOrder order_;

  // The current step on the current slice.
  schedule::LinkStep step_;
  schedule::Range range_;
  Content receives_ = Content::input;
  Content sends_ = Content::input;
  Phase phase_ = Phase::receive;
  int done_in_phase_ = 0;        // peers of `from` or `to` that are dealt with
  std::byte* target_ = nullptr;  // memory of the link, when there is one to send to
  Progress result_ = Progress::blocked;
};

}  // namespace ronde
