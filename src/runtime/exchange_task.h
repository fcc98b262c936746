// Messages that go straight from rank to rank: the blocks of all-to-all, gather and scatter, and groups of sends and
// receives. Every link goes on by itself; each message tells its own size.
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
  uint32_t number = 0;              // of the operation, or of the message among those of its pair
  Transfer* next = nullptr;         // on the same link
  const std::byte* from = nullptr;  // one that is sent
  std::byte* to = nullptr;          // one that is received
  size_t bytes = 0;
  size_t moved = 0;
  uint32_t slices = 0;  // that have gone, or come
  bool done = false;
  SendPort* out = nullptr;  // once the link is there
  ReceivePort* in = nullptr;
};

// Room to work in, and what lasts. Belongs to the communicator; one operation uses it at a time.
struct ExchangeRoom {
  ExchangeRoom(PairLinks& pair_links, int nranks, uint32_t counters_start);

  PairLinks& links;
  std::vector<Transfer> out;
  std::vector<Transfer> in;
  // Those in progress: the first of each link that is not over.
  std::vector<Transfer*> open_out;
  std::vector<Transfer*> open_in;
  // Of sends and receives, by rank.
  std::vector<uint32_t> sent;      // number of the last message
  std::vector<uint32_t> received;  // number of the last message
  std::vector<Transfer*> last_out;
  std::vector<Transfer*> last_in;
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
  void list_peers(CallNote& note) const override;
  void plan_blocks();
  void plan_messages();
  void keep_own_block() const;
  // Goes on with what is open, and with what follows it on its link. stopped, or whether something has moved.
  template <typename GoOn>
  Step go_on(std::vector<Transfer*>& open, const GoOn& step_of) const;
  Step send(Transfer& transfer);
  Step receive(Transfer& transfer);
  bool send_slice(Transfer& transfer, const SliceHead& head) const;
  // Whether what is sent goes from where it lies.
  [[nodiscard]] static bool refers(const Transfer& transfer, const std::byte* payload, size_t bytes);
  Progress stop_for(const ReceivePort& port, const SliceHead& expected);
  [[nodiscard]] SliceHead head(const Transfer& transfer) const;
  [[nodiscard]] bool is_over(const Transfer& transfer) const;

  ExchangeRoom& room_;
  size_t slice_bytes_;
  bool in_place_;     // blocks are written over those that were sent
  bool synchronous_;  // sends end when their messages have been taken
  Progress result_ = Progress::blocked;
};

}  // namespace ronde
