// Executes a schedule of link steps (ring, chain, star) on host memory, over whatever links the communicator has.
#pragma once

#include <array>
#include <span>
#include <variant>
#include <vector>

#include "link/port.h"
#include "runtime/block_map.h"
#include "runtime/link_set.h"
#include "runtime/operation_task.h"
#include "schedule/chain.h"
#include "schedule/ordered.h"
#include "schedule/partition.h"
#include "schedule/ring.h"
#include "schedule/slice_order.h"
#include "schedule/star.h"
#include "schedule/steps.h"

namespace ronde {

using LinkSchedule = std::variant<schedule::Ring, schedule::RingReduceScatter, schedule::RingAllGather,
                                  schedule::ChainBroadcast, schedule::ChainReduce, schedule::Star,
                                  schedule::OrderedChain, schedule::DirectReduce, schedule::ScatteredReduce>;

class LinkTask final : public OperationTask {
 public:
  // links outlive the task. cut_bytes: a slice, in elements of the wider of user and wire type.
  LinkTask(const OperationContext& context, const OperationArgs& args, uint32_t sequence, const Reduction& reduction,
           const plan::Choice& choice, const LinkSchedule& schedule, LinkSet& links);

  Progress advance() override;

 private:
  [[nodiscard]] OperationProgress progress() const override;

  enum class Phase { links, receive, acquire, send, flush };
  enum class Outcome { go_on, wait, ended };

  Outcome find_links();
  Outcome receive();
  Outcome acquire();
  void compute();
  Outcome send();
  Outcome flush();
  void load_step();
  Outcome wait_for_rank(int position);

  void move();
  void combine();
  size_t list_sources();
  [[nodiscard]] Block block(int chunk) const;
  [[nodiscard]] bool receives_into_place() const;
  [[nodiscard]] const void* reference_source() const;
  [[nodiscard]] bool refers(const SendPort& port) const;
  [[nodiscard]] size_t content_bytes(Content content) const;
  [[nodiscard]] SliceHead head(uint32_t slice, Content content) const;
  [[nodiscard]] int peer_at(const schedule::Peers& peers, int index) const;

  LinkSchedule schedule_;
  LinkSet& links_;
  Reduction reduction_;
  size_t element_bytes_;
  size_t partial_bytes_;  // of one element of a partial result
  size_t slice_count_;    // elements
  bool streaming_;
  bool lends_;             // what lies in memory that others read is not copied
  bool moves_;             // nothing is combined: every slice is final
  bool input_is_partial_;  // an own input can be sent as a partial result without conversion
  bool partials_are_inputs_;
  schedule::SliceOrder order_;

  // The current step on the current slice.
  schedule::LinkStep step_;
  size_t count_ = 0;                  // elements of the slice
  const std::byte* input_ = nullptr;  // where it lies in the send buffer
  std::byte* output_ = nullptr;       // ... in the receive buffer; null: this rank does not end with it
  Content receives_ = Content::input;
  Content sends_ = Content::input;
  Phase phase_ = Phase::receive;
  int done_in_phase_ = 0;        // peers of `from` or `to` that are dealt with
  std::byte* target_ = nullptr;  // memory of the link, when there is one to send to
  Progress result_ = Progress::blocked;
};

}  // namespace ronde
