// The last operations that a rank has begun, written on the path of each of them without a lock, read by any thread.
#pragma once

#include <array>
#include <atomic>
#include <optional>

#include "base/shared_word.h"
#include "runtime/operation.h"

namespace ronde {

class CallLog {
 public:
  // first: the number before the first operation.
  explicit CallLog(uint32_t first) : begun_(first) {}

  // By the thread that drives the communicator.
  void begin(const OperationArgs& args, uint32_t sequence, uint32_t digest) {
    Entry& entry = entries_[sequence % entries_.size()];
    publish_unwatched(entry.sequence, ~sequence);  // of another place: nobody takes it for a call while it changes
    publish_unwatched(entry.count, static_cast<uint64_t>(args.count));
    publish_unwatched(entry.what, static_cast<uint32_t>(args.type) << 16 | static_cast<uint32_t>(args.op));
    publish_unwatched(entry.digest, digest);
    publish_unwatched(entry.sequence, sequence);
    publish_unwatched(begun_, sequence);
  }

  // The last number that was begun.
  [[nodiscard]] uint32_t begun() const { return observe_unwatched(begun_); }

  struct Call {
    OperationArgs args;  // without the buffers
    uint32_t digest = 0;
  };
  // Nothing: not begun yet, or forgotten.
  [[nodiscard]] std::optional<Call> find(uint32_t sequence) const {
    const Entry& entry = entries_[sequence % entries_.size()];
    if (!reached(begun(), sequence) || observe_unwatched(entry.sequence) != sequence) return std::nullopt;
    Call call;
    call.args.count = observe_unwatched(entry.count);
    const uint32_t what = observe_unwatched(entry.what);
    call.args.type = static_cast<DataType>(what >> 16);
    call.args.op = static_cast<RedOp>(what & 0xffff);
    call.digest = observe_unwatched(entry.digest);
    if (observe_unwatched(entry.sequence) != sequence) return std::nullopt;  // it changed meanwhile
    return call;
  }

 private:
  struct Entry {
    std::atomic<uint32_t> sequence{0};
    std::atomic<uint32_t> digest{0};
    std::atomic<uint32_t> what{0};
    std::atomic<uint64_t> count{0};
  };

  std::array<Entry, 16> entries_;
  std::atomic<uint32_t> begun_;
};

}  // namespace ronde
