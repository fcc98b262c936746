// Executes a schedule of window steps (one-shot, two-shot, direct), and collectives that fit in a line, on host memory:
// every rank reads every other one's segment.
#pragma once

#include <memory>
#include <vector>

#include "link/arena.h"
#include "link/segment.h"
#include "runtime/block_map.h"
#include "runtime/operation_task.h"
#include "schedule/direct.h"
#include "schedule/one_shot.h"
#include "schedule/partition.h"
#include "schedule/steps.h"
#include "schedule/two_shot.h"

namespace ronde {

// The windows of all ranks of a node as one of them sees them. Belongs to the communicator.
struct NodeWindows {
  struct Peer {
    Segment* segment = nullptr;    // the own one too; only that one is written
    Ringer ringer;                 // not used for the own one
    const Arena* arena = nullptr;  // of the peer; null if it has none that can be read here
    // Of the operation in progress, once its line has come: its buffers, where they can be read. Null: look in its
    // window.
    const std::byte* input = nullptr;
    const std::byte* output = nullptr;
  };
  std::vector<Peer> peers;          // by rank
  const Arena* arena = nullptr;     // of this process; null if not all ranks can read it
  uint32_t operations = 0;          // in lines and windows, before this one
  uint32_t pieces = 0;              // window pieces of all operations before this one
  uint32_t one_shot_pieces = 0;     // of them, those in the one-shot slots
  uint32_t two_shot_pieces = 0;     // of them, those in the slots of two-shot and direct
  unsigned long long staged = 0;    // bytes copied into the own window or line
  unsigned long long sent = 0;      // bytes that others read from the own windows
  unsigned long long received = 0;  // bytes read from the others' windows
  unsigned long long lines = 0;     // heads, each way: bytes of lines published
};

// In the line of an operation in windows: where the owner's buffers lie. kNoPlace: what others need of them is copied
// into the window.
struct LentBuffers {
  Place input = kNoPlace;   // of the send buffer, or the own block of it
  Place output = kNoPlace;  // of the receive buffer, if results are fetched
};
static_assert(sizeof(LentBuffers) <= OperationLine::kPayloadBytes);

// What line and window operations share: the fixed first line, and waiting for the others' words.
class WindowTaskBase : public OperationTask {
 protected:
  WindowTaskBase(const OperationContext& context, const OperationArgs& args, uint32_t sequence,
                 plan::Algorithm algorithm, const Reduction& reduction, NodeWindows& windows)
      : OperationTask(context, args, sequence, algorithm),
        reduction_(reduction),
        windows_(windows),
        place_(windows.operations++ % 2) {}

  // The place of the operation in windows before the last is free: this rank has ended the last one, so everybody had
  // begun it, so everybody had ended the one before and reads its lines no more.
  [[nodiscard]] OperationLine& line_of(int rank) const { return segment_of(rank).words().lines[place_]; }
  [[nodiscard]] Segment& segment_of(int rank) const { return *windows_.peers[static_cast<size_t>(rank)].segment; }
  void ring_all() const;
  void publish_input(std::byte* window, const std::byte* input, size_t bytes);
  [[nodiscard]] Content published_content() const {
    return reduction_.has_own_factor() ? Content::ready : Content::input;
  }
  // The peer's line, at a moment when it has not done what this rank waits for: it may show another operation.
  [[nodiscard]] bool shows_other_operation(int peer) const;
  Progress wait_for(int peer, bool moved);
  Progress blocked_on_line(int peer);

  Reduction reduction_;
  NodeWindows& windows_;

 private:
  uint32_t place_;  // of its lines
};

// An operation to which each rank gives at most OperationLine::kPayloadBytes, read by all: they ride in its line.
// All-reduce, reduce-scatter, all-gather, barrier. In line_task.cc.
class LineTask final : public WindowTaskBase {
 public:
  LineTask(const OperationContext& context, const OperationArgs& args, uint32_t sequence, const Reduction& reduction,
           NodeWindows& windows)
      : WindowTaskBase(context, args, sequence, plan::Algorithm::line, reduction, windows) {}

  Progress advance() override;

 private:
  [[nodiscard]] OperationProgress progress() const override {
    return {static_cast<uint32_t>(heard_), static_cast<uint32_t>(context().nranks)};
  }
  void publish_line();
  void combine();
  void gather();
  [[nodiscard]] size_t payload_bytes(int rank) const;  // that it gives

  bool published_ = false;
  int heard_ = 0;  // ranks, in order, whose line has come
};

template <typename Schedule>
class WindowTask final : public WindowTaskBase {
 public:
  // piece_bytes: of a piece of the message, or of the part that each rank has in it.
  WindowTask(const OperationContext& context, const OperationArgs& args, uint32_t sequence, const Reduction& reduction,
             size_t piece_bytes, NodeWindows& windows);

  Progress advance() override;

 private:
  [[nodiscard]] OperationProgress progress() const override {
    return {static_cast<uint32_t>(next_), static_cast<uint32_t>(schedule_.steps())};
  }
  bool run_step(bool moved);  // false: wait, or the end by an error; result_ says which
  bool await(int peer, const SharedCounter& counter, bool moved);
  bool await_published(bool moved);
  bool check_line(int peer);
  [[nodiscard]] LentBuffers buffers_to_lend() const;
  [[nodiscard]] size_t lent_input_bytes(int rank) const;
  bool hear_line(int peer);
  bool all_still_lend();
  bool return_what_was_lent(bool moved);
  void publish_piece();
  void publish_line() const;
  bool combine_piece();
  bool fetch_part();
  void keep_part();
  // A part of the current piece: where it lies.
  struct Part {
    size_t bytes = 0;
    size_t input = 0;   // offsets in bytes: in the send buffer, if this rank has it there
    size_t output = 0;  // in the receive buffer, if it ends there
    size_t window = 0;  // in the slot of the rank that publishes it
  };
  [[nodiscard]] Part whole_piece() const;
  [[nodiscard]] Part part_of(int rank) const;
  [[nodiscard]] std::byte* window_of(int rank) const;
  [[nodiscard]] const std::byte* published_by(int rank, const Part& part) const;
  [[nodiscard]] const std::byte* input(const Part& part) const;
  [[nodiscard]] std::byte* output(const Part& part) const;
  void finish();

  size_t element_bytes_;
  size_t piece_count_;  // elements of a piece, or of each rank's part
  size_t pieces_;
  Schedule schedule_;
  bool streaming_;
  LentBuffers lends_;
  bool borrows_ = false;   // some rank lends
  size_t own_offset_ = 0;  // of the own block in the lent input of others, in bytes
  size_t next_ = 0;
  schedule::WindowStep step_;
  int heard_ = 0;  // in the current step: ranks, in order, that have published; at the end, that have read all
  Progress result_ = Progress::blocked;
};

extern template class WindowTask<schedule::OneShot>;
extern template class WindowTask<schedule::TwoShot>;
extern template class WindowTask<schedule::DirectReduceScatter>;
extern template class WindowTask<schedule::DirectAllGather>;

}  // namespace ronde
