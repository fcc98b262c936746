#include "runtime/stream.h"

#include <utility>

#include "runtime/worker.h"

namespace ronde {

// ---- Stream --------------------------------------------------------------------------------------------------------

Stream::~Stream() {
  while (!entries_.empty()) delete &entries_.pop_front();
}

Status Stream::wait_for(Event& event) {
  std::shared_ptr<EventRecord> record = event.last();
  if (record == nullptr || observe_raised(record->reached)) return {};
  return worker_.put(*this, StreamEntry::Wait{std::move(record)});
}

Status Stream::call(HostFunction function) {
  RONDE_TRY(worker_.start_host_thread());
  return worker_.put(*this, StreamEntry::Function{std::move(function), {}, false});
}

Status Stream::synchronize() {
  const uint64_t so_far = observe_raised(issued_);
  RONDE_TRY(worker_.check_may_wait());
  worker_.room_.wait_until([this, so_far] { return observe_raised(ended_) >= so_far; });
  return take_error();
}

Status Stream::query() {
  // In this order: if it had ended as many as are issued later, nothing was left at the first look.
  const uint64_t ended = observe_raised(ended_);
  if (ended != observe_raised(issued_)) return {rondeInProgress, "operations of the stream have not ended yet"};
  return take_error();
}

Status Stream::take_error() {
  if (!observe_raised(has_error_)) return {};
  const std::scoped_lock lock(error_mutex_);
  raise(has_error_, false);
  return std::exchange(error_, Status());
}

void Stream::note_error(const Status& status) {
  if (since_function_.ok()) since_function_ = status;
  const std::scoped_lock lock(error_mutex_);
  if (error_.ok()) error_ = status;
  raise(has_error_, true);
}

// ---- Event ---------------------------------------------------------------------------------------------------------

Status Event::record(Stream& stream) {
  auto record = std::make_shared<EventRecord>();
  // Others see the record only when it is on its way to the worker: so whoever waits comes after it, and there are no
  // cycles.
  const std::scoped_lock lock(mutex_);
  RONDE_TRY(worker_.put(stream, StreamEntry::Record{record}));
  last_ = std::move(record);
  return {};
}

bool Event::reached() const {
  const std::shared_ptr<EventRecord> record = last();
  return record == nullptr || observe_raised(record->reached);
}

Status Event::synchronize() {
  Worker& worker = worker_;  // the event may go meanwhile
  const std::shared_ptr<EventRecord> record = last();
  RONDE_TRY(worker.check_may_wait());
  if (record != nullptr) worker.room_.wait_until([&record] { return observe_raised(record->reached); });
  return {};
}

std::shared_ptr<EventRecord> Event::last() const {
  const std::scoped_lock lock(mutex_);
  return last_;
}

}  // namespace ronde
