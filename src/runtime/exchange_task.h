// Blocks that go straight from rank to rank: all-to-all, gather, scatter. Every link goes on by itself; each message tells
// its own size.
#pragma once

#include <vector>

#include "link/port.h"
#include "runtime/block_map.h"
#include "runtime/operation_task.h"
#include "runtime/pair_links.h"

namespace ronde {

// One message in one direction.
struct Transfer {
  int peer = 0;
  const std::byte* from = nullptr;  // one that is sent
  std::byte* to = nullptr;          // one that is received
  size_t bytes = 0;
  size_t moved = 0;
  uint32_t slices = 0;  // that have gone, or come
  bool done = false;
  SendPort* out = nullptr;  // once the link is there
  ReceivePort* in = nullptr;
};

// Room to work in, and the links. Belongs to the communicator; one operation uses it at a time.
struct ExchangeRoom {
  PairLinks* links = nullptr;
  std::vector<Transfer> out;
  std::vector<Transfer> in;
};

class ExchangeTask final : public OperationTask {
 public:
  // room outlives the task. choice.cut_bytes: a slice.
  ExchangeTask(const OperationContext& context, const OperationArgs& args, uint32_t sequence,
               const plan::Choice& choice, ExchangeRoom& room);

  Progress advance() override;

 private:
  enum class Step { waits, moved, stopped };  // stopped: result_ says how it goes on

  [[nodiscard]] OperationProgress progress() const override;
  void plan();
  void keep_own_block() const;
  Step send(Transfer& transfer);
  Step receive(Transfer& transfer);
  bool send_slice(Transfer& transfer, const SliceHead& head) const;
  Progress stop_for(const ReceivePort& port, const SliceHead& expected);
  [[nodiscard]] SliceHead head(const Transfer& transfer) const;
  [[nodiscard]] bool all_left() const;

  ExchangeRoom& room_;
  size_t slice_bytes_;
  bool in_place_;  // blocks are written over those that were sent
  Progress result_ = Progress::blocked;
};

}  // namespace ronde
