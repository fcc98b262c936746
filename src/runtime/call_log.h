// The operations that a rank has begun, in its black box: written on the path of each of them without a lock, read by
// any thread, and by other processes (black_box_reader.h).
#pragma once

#include <bit>
#include <memory>
#include <optional>
#include <utility>

#include "base/deadline.h"
#include "plan/choose.h"
#include "runtime/black_box_layout.h"
#include "runtime/operation.h"
#include "runtime/recorded_call.h"

namespace ronde {

// How much of an operation is done, in parts of about equal work.
struct OperationProgress {
  uint32_t done = 0;
  uint32_t total = 0;
};

class CallLog {
 public:
  // first: the number before the first operation.
  CallLog(std::shared_ptr<black_box::Area> area, uint32_t first) : area_(std::move(area)) {
    publish_unwatched(area_->begun, first);
  }

  // This and the next four by the thread that drives the communicator.
  // The record is for the other two. A collective is found by its number; of messages only the last group is kept.
  black_box::OperationRecord& begin(const OperationArgs& args, uint32_t sequence, uint32_t digest,
                                    plan::Algorithm algorithm) {
    black_box::OperationRecord& record = is_numbered(args) ? record_of(sequence) : area_->messages;
    publish_unwatched(record.sequence, ~sequence);  // of another place: nobody takes it for a call while it changes
    publish_unwatched(record.count, static_cast<uint64_t>(args.count));
    publish_unwatched(record.what, pack_call(args, algorithm));
    publish_unwatched(record.root, static_cast<uint32_t>(args.root));
    publish_unwatched(record.digest, digest);
    publish_unwatched(record.begun_ns, now_ns());
    publish_unwatched(record.noted_ns, int64_t{0});
    publish_unwatched(record.state, black_box::OperationState::running);
    publish_unwatched(record.sequence, sequence);
    if (is_numbered(args)) publish_unwatched(area_->begun, sequence);
    return record;
  }

  // The digest of the next collective together with all before it. A collective with a root may end on ranks that
  // called another one, as nobody reads what was sent; the next comparison finds it.
  [[nodiscard]] uint32_t chained(uint32_t digest) {
    // The steps of MurmurHash3: histories that differ once differ from then on, whatever follows.
    history_ = std::rotl(history_ ^ std::rotl(digest * 0xcc9e2d51u, 15) * 0x1b873593u, 13) * 5 + 0xe6546b64u;
    return history_;
  }

  // A wait of this operation has lasted for long. waits_for: as in a SleepWord.
  static void note_wait(black_box::OperationRecord& record, uint32_t waits_for, OperationProgress progress) {
    publish_unwatched(record.waits_for, waits_for);
    publish_unwatched(record.done, progress.done);
    publish_unwatched(record.total, progress.total);
    publish_unwatched(record.noted_ns, now_ns());
  }

  static void end(black_box::OperationRecord& record, black_box::OperationState how) {
    publish_unwatched(record.ended_ns, now_ns());
    publish_unwatched(record.state, how);
  }

  // The last number that was begun.
  [[nodiscard]] uint32_t begun() const { return observe_unwatched(area_->begun); }

  // The same of the groups of messages, which have numbers of their own.
  [[nodiscard]] uint32_t messages_begun() const { return observe_unwatched(area_->messages.sequence); }

  struct Call {
    OperationArgs args;  // without the buffers
    uint32_t digest = 0;
  };
  // Nothing: not begun yet, or forgotten.
  [[nodiscard]] std::optional<Call> find(uint32_t sequence) const {
    const black_box::OperationRecord& record = record_of(sequence);
    if (!reached(begun(), sequence) || observe_unwatched(record.sequence) != sequence) return std::nullopt;
    Call call;
    call.args = unpack_call(observe_unwatched(record.what)).args;
    call.args.count = observe_unwatched(record.count);
    call.args.root = static_cast<int>(observe_unwatched(record.root));
    call.digest = observe_unwatched(record.digest);
    if (observe_unwatched(record.sequence) != sequence) return std::nullopt;  // it changed meanwhile
    return call;
  }

 private:
  static int64_t now_ns() {
    return std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now().time_since_epoch()).count();
  }
  [[nodiscard]] black_box::OperationRecord& record_of(uint32_t sequence) const {
    return area_->operations[sequence % black_box::kOperations];
  }

  std::shared_ptr<black_box::Area> area_;
  uint32_t history_ = 0;
};

}  // namespace ronde
