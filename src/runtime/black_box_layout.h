// What a black box looks like in memory: shared by the process that writes it and by others that read it (ronderun,
// ronde-status), perhaps of another build. A head, then one area for each communicator and rank that the process has
// had. A change of the layout is a new version.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <string_view>

#include "base/shared_word.h"

namespace ronde::black_box {

// Of the memory file; behind /proc/PID/fd it reads "/memfd:ronde-black-box (deleted)".
inline constexpr const char* kMemoryName = "ronde-black-box";
inline constexpr uint64_t kMagic = 0x786f4265646e6f52;  // "RondeBox"
inline constexpr uint32_t kVersion = 4;
inline constexpr size_t kOperations = 256;

enum class OperationState : uint32_t { none, running, ended, failed };

// One operation of a rank. `sequence` is written last; while the rest changes it shows a number of another place.
struct alignas(kCacheLine) OperationRecord {
  std::atomic<uint32_t> sequence{0};
  std::atomic<uint32_t> digest{0};
  std::atomic<uint32_t> what{0};  // see runtime/recorded_call.h
  std::atomic<OperationState> state{OperationState::none};
  std::atomic<uint64_t> count{0};    // elements
  std::atomic<int64_t> begun_ns{0};  // CLOCK_MONOTONIC
  std::atomic<int64_t> ended_ns{0};
  // Noted about each 100 ms while nothing moves.
  std::atomic<int64_t> noted_ns{0};
  std::atomic<uint32_t> waits_for{kAwake};  // as in a SleepWord
  std::atomic<uint32_t> done{0};            // of `total` equal parts of the work
  std::atomic<uint32_t> total{0};
  std::atomic<uint32_t> root{0};
};
static_assert(sizeof(OperationRecord) == kCacheLine);
static_assert(std::atomic<int64_t>::is_always_lock_free && std::atomic<uint64_t>::is_always_lock_free);

enum class AreaState : uint32_t { unused, in_use, ended };

// Start-up, which has two parts; then operations, but for the time of a shrink; then the goodbye.
enum class Phase : uint32_t { meeting, linking, working, shrinking, finalized };

// One rank of one communicator. What is not atomic is written before the state says that the area is in use.
struct Area {
  std::atomic<AreaState> state{AreaState::unused};
  uint32_t rank = 0;
  uint32_t nranks = 0;
  uint64_t job = 0;  // number of the communicator, equal on all its ranks
  std::array<char, 64> name{};
  std::atomic<uint32_t> begun{0};    // number of the last operation
  std::atomic<uint32_t> failure{0};  // rondeResult_t; the text below was written before
  std::array<char, 1024> failure_text{};
  std::atomic<Phase> phase{Phase::meeting};
  std::atomic<int64_t> phase_ns{0};  // when it began
  OperationRecord messages;          // the last group of sends and receives; its sequence counts them
  alignas(4096) std::array<OperationRecord, kOperations> operations;
};
static_assert(sizeof(Area) == 4096 + kOperations * kCacheLine);

struct alignas(4096) Head {
  std::atomic<uint64_t> magic{0};  // written last
  uint32_t version = 0;
  uint32_t area_bytes = 0;
  std::atomic<uint32_t> pid{0};
  std::atomic<uint32_t> areas{0};  // those behind it are not written yet
  std::array<char, 64> host{};
  std::array<char, 64> program{};
  uint64_t start_time = 0;  // of the process, as in /proc/PID/stat: with its number it names the process for good
};
static_assert(sizeof(Head) == 4096);

}  // namespace ronde::black_box
