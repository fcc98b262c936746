// What the communicators of a process share: the service thread, the worker of the streams, the transports, the budget
// of shared memory. One object a process, made and ended in src/api; tests make several.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "base/event_loop.h"
#include "control/control.h"
#include "link/transport.h"
#include "runtime/black_box.h"
#include "runtime/library_memory.h"
#include "runtime/start_up.h"
#include "runtime/worker.h"

namespace ronde {

// Counts the shared memory of a process against RONDE_SHM_LIMIT. Any thread.
class SharedMemoryBudget {
 public:
  // Null if in_use() + bytes would be more than the limit; else the bytes are in use until the result goes.
  std::shared_ptr<const void> reserve(size_t bytes, int64_t limit);
  // True for the first who asks, after something was refused: one warning a process is enough.
  [[nodiscard]] bool refused_first_time() { return !refused_.exchange(true); }
  [[nodiscard]] size_t in_use() const { return *used_; }

 private:
  std::atomic<bool> refused_{false};
  std::shared_ptr<std::atomic<size_t>> used_ = std::make_shared<std::atomic<size_t>>(0);
};

class Process {
 public:
  // black_box: a memory file for it, see BlackBox; -1: none.
  explicit Process(std::vector<std::unique_ptr<Transport>> transports, int black_box = -1)
      : transports_(std::move(transports)), black_box_(black_box) {}

  EventLoop& loop() { return loop_; }
  ControlTable& control() { return control_; }
  Worker& worker() { return worker_; }
  StartUps& start_ups() { return start_ups_; }
  BlackBox& black_box() { return black_box_; }
  SharedMemoryBudget& shared_memory() { return shared_memory_; }
  LibraryMemory& library_memory() { return library_memory_; }
  [[nodiscard]] std::span<const std::unique_ptr<Transport>> transports() const { return transports_; }

 private:
  std::vector<std::unique_ptr<Transport>> transports_;
  BlackBox black_box_;
  SharedMemoryBudget shared_memory_;
  LibraryMemory library_memory_;
  EventLoop loop_;
  ControlTable control_;
  Worker worker_;
  StartUps start_ups_;  // ends first: its threads use all the others
};

}  // namespace ronde
