#include "runtime/black_box_reader.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <memory>

#include "base/printable.h"
#include "base/retry.h"
#include "runtime/recorded_call.h"

namespace ronde {

using black_box::Area;
using black_box::AreaState;
using black_box::Head;
using black_box::OperationRecord;
using black_box::OperationState;
using black_box::Phase;

namespace {

constexpr uint32_t kMostAreas = 1 << 16;
// A rank that still waits notes it about each 100 ms.
constexpr Milliseconds kNoteIsFresh{400};

// A copy, so that nothing changes while it is read. T consists of numbers and lock-free atomics.
template <typename T>
bool copy_from(int fd, size_t offset, T* target) {
  const ssize_t size =
      retry_interrupted([&] { return ::pread(fd, static_cast<void*>(target), sizeof(T), static_cast<off_t>(offset)); });
  return size == static_cast<ssize_t>(sizeof(T));
}

template <size_t N>
std::string text_of(const std::array<char, N>& text) {
  return printable({text.data(), static_cast<size_t>(std::find(text.begin(), text.end(), '\0') - text.begin())});
}

Time time_of(int64_t since_boot_ns) {
  return Time(std::chrono::duration_cast<Clock::duration>(std::chrono::nanoseconds(since_boot_ns)));
}

std::optional<RecordedOperation> read_operation(const OperationRecord& record, uint32_t sequence, Time now) {
  const auto state = observe_unwatched(record.state);
  if (observe_unwatched(record.sequence) != sequence || state == OperationState::none || state > OperationState::failed)
    return std::nullopt;
  RecordedOperation operation;
  operation.sequence = sequence;
  operation.digest = observe_unwatched(record.digest);
  const UnpackedCall call = unpack_call(observe_unwatched(record.what));
  operation.args = call.args;
  operation.algorithm = call.algorithm;
  operation.args.count = observe_unwatched(record.count);
  operation.args.root = static_cast<int>(observe_unwatched(record.root));
  operation.state = state;
  operation.begun = time_of(observe_unwatched(record.begun_ns));
  if (state != OperationState::running) operation.ended = time_of(observe_unwatched(record.ended_ns));
  const Time noted = time_of(observe_unwatched(record.noted_ns));
  if (state == OperationState::running && now - noted < kNoteIsFresh) {
    RecordedWait wait;
    const uint32_t waits_for = observe_unwatched(record.waits_for);
    if (waits_for != kWaitsForAny && waits_for != kAwake) wait.rank = waits_for - 1;
    wait.total = observe_unwatched(record.total);
    wait.done = std::min(observe_unwatched(record.done), wait.total);
    operation.wait = wait;
  }
  return operation;
}

RecordedRank read_area(const Area& area, size_t operations, Time now) {
  RecordedRank rank;
  rank.job = area.job;
  rank.name = text_of(area.name);
  rank.rank = area.rank;
  rank.nranks = area.nranks;
  rank.in_use = observe_unwatched(area.state) == AreaState::in_use;
  if (observe_unwatched(area.failure) != rondeSuccess) rank.failure = text_of(area.failure_text);
  const Phase phase = observe_unwatched(area.phase);
  rank.phase = phase <= Phase::finalized ? phase : Phase::working;
  rank.phase_since = time_of(observe_unwatched(area.phase_ns));
  const uint32_t begun = observe_unwatched(area.begun);
  for (uint32_t i = 0; i < std::min(operations, black_box::kOperations); ++i) {
    const uint32_t sequence = begun - i;
    const auto operation = read_operation(area.operations[sequence % black_box::kOperations], sequence, now);
    if (!operation) break;
    rank.operations.push_back(*operation);
  }
  const auto messages = read_operation(area.messages, observe_unwatched(area.messages.sequence), now);
  const bool is_last = messages && (rank.operations.empty() || messages->begun > rank.operations.front().begun);
  if (is_last && operations > 0) {
    if (rank.operations.size() == operations) rank.operations.pop_back();
    rank.operations.insert(rank.operations.begin(), *messages);
  }
  return rank;
}

// Calls visit with a copy of each area that a rank has or had.
template <typename Visit>
void for_each_area(int fd, const Head& head, Visit visit) {
  const auto area = std::make_unique<Area>();
  const uint32_t areas = std::min(observe_unwatched(head.areas), kMostAreas);
  for (uint32_t i = 0; i < areas; ++i) {
    if (!copy_from(fd, sizeof(Head) + i * sizeof(Area), area.get())) return;
    const auto state = observe_unwatched(area->state);
    if (state == AreaState::in_use || state == AreaState::ended) visit(*area);
  }
}

std::string describe_last(const RecordedOperation& last, Time now) {
  return fmt::format("the last one, {}, {} {:.1f} s ago", describe(last),
                     last.state == OperationState::failed ? "failed" : "ended", seconds_between(last.ended, now));
}

}  // namespace

double seconds_between(Time from, Time to) { return std::max(0.0, std::chrono::duration<double>(to - from).count()); }

bool is_black_box(const std::string& proc_entry) {
  std::array<char, PATH_MAX> target{};
  if (::readlink(proc_entry.c_str(), target.data(), target.size() - 1) <= 0) return false;
  const std::string_view path(target.data());
  const std::string_view name = path.substr(path.rfind('/') + 1);
  return name.starts_with(black_box::kMemoryName) || name.starts_with(std::string("memfd:") + black_box::kMemoryName);
}

Result<BlackBoxRecording> read_black_box(int fd, size_t operations, Time now) {
  const auto head = std::make_unique<Head>();
  if (!copy_from(fd, 0, head.get()) || observe_unwatched(head->magic) != black_box::kMagic)
    return Status(rondeInvalidArgument, "no black box, or one that is not written yet");
  if (head->version != black_box::kVersion || head->area_bytes != sizeof(Area))
    return Status(rondeInvalidUsage, fmt::format("a black box of version {}; this program reads version {}",
                                                 head->version, black_box::kVersion));
  BlackBoxRecording recording;
  recording.pid = observe_unwatched(head->pid);
  recording.host = text_of(head->host);
  recording.program = text_of(head->program);
  recording.start_time = head->start_time;
  for_each_area(fd, *head, [&](const Area& area) { recording.ranks.push_back(read_area(area, operations, now)); });
  return recording;
}

Time last_moment_in(int fd) {
  const auto head = std::make_unique<Head>();
  int64_t last = 0;
  if (!copy_from(fd, 0, head.get())) return {};
  for_each_area(fd, *head, [&last](const Area& area) {
    last = std::max(last, observe_unwatched(area.phase_ns));
    for (const OperationRecord& record : area.operations)
      last = std::max({last, observe_unwatched(record.begun_ns), observe_unwatched(record.ended_ns),
                       observe_unwatched(record.noted_ns)});
  });
  return time_of(last);
}

std::string describe(const RecordedOperation& operation) {
  return fmt::format("{} by {}", describe(operation.args, operation.sequence),
                     plan::algorithm_name(operation.algorithm));
}

std::string describe_activity(const RecordedRank& rank, Time now) {
  const double in_phase = seconds_between(rank.phase_since, now);
  if (!rank.in_use && rank.phase <= Phase::linking) return "did not start";
  switch (rank.phase) {
    case Phase::meeting:
      return fmt::format("in start-up for {:.1f} s, waits for the meeting point or for other ranks", in_phase);
    case Phase::linking: return fmt::format("in start-up for {:.1f} s, makes its links", in_phase);
    case Phase::shrinking: return fmt::format("in rondeCommShrink for {:.1f} s", in_phase);
    case Phase::finalized:
      return fmt::format("said goodbye {:.1f} s ago", in_phase) +
             (rank.operations.empty() ? "" : "; of its operations " + describe_last(rank.operations.front(), now));
    case Phase::working: break;
  }
  if (rank.operations.empty()) return "before its first operation";
  const RecordedOperation& last = rank.operations.front();
  if (last.state != OperationState::running) return "between operations; " + describe_last(last, now);
  std::string text = fmt::format("in {} for {:.1f} s", describe(last), seconds_between(last.begun, now));
  if (!last.wait) return text;
  if (last.wait->total > 0) text += fmt::format(", {} % done", uint64_t{100} * last.wait->done / last.wait->total);
  return text + (last.wait->rank ? fmt::format(", waits for rank {}", *last.wait->rank) : ", waits for others");
}

}  // namespace ronde
