#include "runtime/worker.h"

#include <fmt/format.h>

#include <system_error>
#include <utility>

#include "base/block_signals.h"
#include "runtime/communicator.h"

namespace ronde {
namespace {

// How many entries begin before those in progress are looked after again: what is alone ends as it begins, and may
// take long.
constexpr int kStartsAtOnce = 16;

}  // namespace

// ---- All threads ---------------------------------------------------------------------------------------------------

Worker::Worker() : host_([this](StreamEntry& entry) { hand_in(entry); }) {}

Worker::~Worker() {
  raise(stop_, true);
  if (started_.is_set()) doorbell_->wake();
  if (thread_.joinable()) thread_.join();
  host_.stop();
  for (StreamEntry* entry = take_all(inbox_); entry != nullptr;) {
    StreamEntry* next = entry->next;
    const auto* function = std::get_if<StreamEntry::Function>(&entry->what);
    const bool in_stream = function != nullptr && function->returned;
    if (!in_stream) delete entry;
    entry = next;
  }
}

Status Worker::enqueue(Stream& stream, Communicator& communicator, OperationArgs args) {
  return put(stream, StreamEntry::Operation{&communicator, std::move(args)});
}

Status Worker::wait_for(Communicator& communicator) {
  const Communicator::Queue& queue = communicator.queue();
  const uint64_t so_far = observe_raised(queue.issued);
  if (observe_raised(queue.ended) == so_far) return {};
  RONDE_TRY(check_may_wait());
  room_.wait_until([&queue, so_far] { return observe_raised(queue.ended) >= so_far; });
  return {};
}

Status Worker::check_may_wait() const {
  if (!host_.is_calling_thread()) return {};
  return {rondeInvalidUsage,
          "a function of rondeLaunchHostFunc must not wait for a stream, an event or queued operations: its own stream "
          "waits for it"};
}

Status Worker::put(Stream& stream, decltype(StreamEntry::what) what) {
  if (!started_.is_set()) RONDE_TRY(start_thread());
  auto entry = std::make_unique<StreamEntry>();
  entry->stream = &stream;
  entry->what = std::move(what);
  count_one(stream.issued_);
  if (const auto* operation = entry->operation()) count_one(operation->communicator->queue().issued);
  hand_in(*entry.release());
  return {};
}

void Worker::hand_in(StreamEntry& entry) {
  put_first(inbox_, entry, &StreamEntry::next);
  doorbell_->wake();
}

Status Worker::start_thread() {
  const std::scoped_lock lock(start_mutex_);
  if (started_.is_set()) return {};
  RONDE_ASSIGN(doorbell_, Doorbell::create(&sleep_word_));
  try {
    const BlockAllSignals block;
    thread_ = std::thread([this] { run(); });
  } catch (const std::system_error& error) {
    return {rondeSystemError, fmt::format("cannot start the thread of the streams: {}", error.what())};
  }
  started_.set();
  return {};
}

Result<std::shared_ptr<Turn>> Turn::take(Worker& worker, Communicator& communicator) {
  if (!worker.started_.is_set()) RONDE_TRY(worker.start_thread());
  std::shared_ptr<Turn> turn(new Turn(worker));
  auto entry = std::make_unique<StreamEntry>();
  entry->what = StreamEntry::Hold{&communicator, turn->phase_, false};
  turn->entry_ = entry.release();
  count_one(communicator.queue().issued);
  worker.hand_in(*turn->entry_);
  return turn;
}

bool Turn::await(const OnceFlag& stop) {
  const auto reached = [this] { return observe_raised(*phase_) == Phase::reached; };
  worker_.room_.wait_until([&] { return reached() || stop.is_set(); });
  return reached();
}

void Turn::look_again() { worker_.room_.tell(); }

void Turn::end() {
  if (std::exchange(ended_, true)) return;
  if (!raise_from(*phase_, Phase::waits, Phase::passed_over)) worker_.hand_in(*entry_);
}

// ---- The worker's thread -------------------------------------------------------------------------------------------

bool Worker::pending() const { return !is_empty(inbox_) || !ready_.empty() || observe_raised(stop_); }

void Worker::run() {
  while (!observe_raised(stop_)) {
    take_in();
    start_ready();
    if (!waiters_.empty()) {
      run_until_one_ends(waiters_, this);
      retire();
    } else {
      sleep_until(*this);
    }
  }
  running_.clear();  // before what the tasks refer to can go
}

void Worker::take_in() {
  StreamEntry* in_order = nullptr;
  for (StreamEntry* entry = take_all(inbox_); entry != nullptr;) {
    StreamEntry* next = std::exchange(entry->next, in_order);
    in_order = std::exchange(entry, next);
  }
  while (in_order != nullptr) take_in(*std::exchange(in_order, in_order->next));
}

void Worker::take_in(StreamEntry& entry) {
  if (const auto* function = std::get_if<StreamEntry::Function>(&entry.what); function && function->returned) {
    end(entry, {});
    return;
  }
  if (const auto* hold = entry.hold(); hold != nullptr && hold->started) {
    end(entry, {});
    return;
  }
  if (entry.stream != nullptr) entry.stream->entries_.push_back(entry);
  if (Communicator* communicator = entry.communicator()) communicator->queue().entries.push_back(entry);
  if (is_next(entry)) ready_.push_back(entry);
}

// Its turn has come: it is the first of its stream and of its communicator. Asked once when it becomes the first of
// either.
bool Worker::is_next(StreamEntry& entry) {
  if (entry.stream != nullptr && entry.stream->entries_.first() != &entry) return false;
  Communicator* communicator = entry.communicator();
  return communicator == nullptr || communicator->queue().entries.first() == &entry;
}

void Worker::start_ready() {
  for (int i = 0; i < kStartsAtOnce && !ready_.empty(); ++i) start(ready_.pop_front());
}

void Worker::start(StreamEntry& entry) {
  if (const auto* record = std::get_if<StreamEntry::Record>(&entry.what)) {
    reach(*record->record);
    end(entry, {});
  } else if (const auto* wait = std::get_if<StreamEntry::Wait>(&entry.what)) {
    if (observe_raised(wait->record->reached)) {
      end(entry, {});
    } else {
      wait->record->waiting.push_back(entry);
    }
  } else if (auto* function = std::get_if<StreamEntry::Function>(&entry.what)) {
    function->status = std::exchange(entry.stream->since_function_, Status());
    function->returned = true;
    host_.run(entry);
  } else if (auto* hold = entry.hold()) {
    reach(entry, *hold);
  } else {
    start_operation(entry);
  }
}

void Worker::start_operation(StreamEntry& entry) {
  const auto& [communicator, args] = *entry.operation();
  Communicator::Started started = communicator->start(args);
  if (started.task == nullptr) {
    end(entry, started.status);
    return;
  }
  waiters_.push_back(started.waiter);
  running_.push_back({&entry, std::move(started.task)});
}

void Worker::reach(EventRecord& record) {
  raise(record.reached, true);
  while (!record.waiting.empty()) ready_.push_back(record.waiting.pop_front());
}

void Worker::reach(StreamEntry& entry, StreamEntry::Hold& hold) {
  using Phase = StreamEntry::Hold::Phase;
  hold.started = true;  // before others know: it may come back at once
  if (raise_from(*hold.phase, Phase::waits, Phase::reached)) {
    room_.tell();
  } else {
    end(entry, {});
  }
}

void Worker::retire() {
  for (size_t i = 0; i < running_.size();) {
    if (!waiters_[i].done) {
      ++i;
      continue;
    }
    StreamEntry& entry = *running_[i].entry;
    const Status status = running_[i].task->status();
    running_[i] = std::move(running_.back());  // the task goes before the user can free what it refers to
    waiters_[i] = waiters_.back();
    running_.pop_back();
    waiters_.pop_back();
    end(entry, status);
  }
}

// As soon as the counts are raised the user may free stream, communicator and buffers: all else comes before.
void Worker::end(StreamEntry& entry, const Status& status) {
  Stream* stream = entry.stream;
  Communicator* communicator = entry.communicator();
  Communicator::Queue* queue = communicator != nullptr ? &communicator->queue() : nullptr;
  StreamEntry* next = nullptr;
  StreamEntry* next_of_communicator = nullptr;
  if (stream != nullptr) {
    if (!status.ok()) stream->note_error(status);
    stream->entries_.pop_front();
    next = stream->entries_.first();
  }
  if (queue != nullptr) {
    queue->entries.pop_front();
    next_of_communicator = queue->entries.first();
  }
  if (next != nullptr && is_next(*next)) ready_.push_back(*next);
  if (next_of_communicator != nullptr && next_of_communicator != next && is_next(*next_of_communicator))
    ready_.push_back(*next_of_communicator);
  delete &entry;
  // The stream's first: who has waited for the communicator finds its streams done, too.
  if (stream != nullptr) raise(stream->ended_, observe_raised(stream->ended_) + 1);
  if (queue != nullptr) raise(queue->ended, observe_raised(queue->ended) + 1);
  room_.tell();
}

}  // namespace ronde
