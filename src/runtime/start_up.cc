#include "runtime/start_up.h"

#include <fmt/format.h>

#include <exception>
#include <system_error>
#include <utility>

#include "base/block_signals.h"

namespace ronde {

Result<std::unique_ptr<StartUp>> StartUp::begin(StartUps& all, Make make) {
  std::unique_ptr<StartUp> start(new StartUp(all));
  {
    const std::scoped_lock lock(all.mutex_);
    all.all_.insert(start.get());
  }
  try {
    const BlockAllSignals block;
    start->thread_ = std::thread([self = start.get(), make = std::move(make)] { self->run(make); });
  } catch (const std::system_error& error) {
    return Status(rondeSystemError,
                  fmt::format("cannot start the thread that makes a communicator: {} (ulimit -u)", error.what()));
  }
  return start;
}

StartUp::~StartUp() {
  {
    const std::scoped_lock lock(all_.mutex_);
    all_.all_.erase(this);
  }
  end();
}

void StartUp::run(const Make& make) {
  Status status;
  std::unique_ptr<Communicator> made;
  try {
    Result<std::unique_ptr<Communicator>> result = make(stop_);
    if (result.ok()) made = std::move(*result);
    status = result.status();
    // What stopped it is the cause; what it ran into after that is not.
    if (const Status why = stop_->first(); !status.ok() && !why.ok()) status = why;
  } catch (const std::exception& error) {
    status = {rondeSystemError, fmt::format("making a rank failed: {}", error.what())};
  }
  if (const Status why = stop_->first(); made && why.code() == rondeAborted) {  // too late to be noticed on the way
    made->abort();
    made.reset();
    status = why;
  }
  const std::scoped_lock lock(mutex_);
  made_ = std::move(made);
  status_ = status;
}

void StartUp::end() {
  abort({rondeAborted, "the process ends, or the communicator was destroyed before it was ready"});
  const std::scoped_lock lock(joining_);
  if (thread_.joinable()) thread_.join();
}

Status StartUp::status() const {
  const std::scoped_lock lock(mutex_);
  return status_;
}

std::unique_ptr<Communicator> StartUp::take() {
  const std::scoped_lock lock(mutex_);
  return std::move(made_);
}

StartUps::~StartUps() {
  const std::scoped_lock lock(mutex_);
  for (StartUp* start : all_) start->end();
}

}  // namespace ronde
