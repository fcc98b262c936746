#include "ronderun/output.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <optional>

namespace ronde::launcher {
namespace {

bool same_file(int a, int b) {
  struct stat first {};
  struct stat second {};
  return fstat(a, &first) == 0 && fstat(b, &second) == 0 && first.st_dev == second.st_dev &&
         first.st_ino == second.st_ino;
}

}  // namespace

struct Output::Sink {
  Sink(int fd, LineMerger::Mode mode) : stream(fd), merger(mode), writer(fd) {}

  int stream;
  LineMerger merger;
  StreamWriter writer;
  std::optional<Reactor::TimerId> timer;
  bool failed = false;
};

Output::Output(Reactor& reactor, bool verbatim, bool prefix, Events events)
    : reactor_(reactor), events_(std::move(events)) {
  out_ = std::make_unique<Sink>(1, LineMerger::Mode{verbatim, prefix, isatty(1) == 1});
  if (!same_file(1, 2)) error_ = std::make_unique<Sink>(2, LineMerger::Mode{verbatim, prefix, isatty(2) == 1});
  for (auto* sink : {out_.get(), error_.get()}) {
    if (sink != nullptr) reactor_.watch_input(sink->writer.event_fd(), [this, sink] { writer_reports(*sink); });
  }
}

Output::~Output() {
  for (auto* sink : {out_.get(), error_.get()}) {
    if (sink != nullptr) reactor_.forget(sink->writer.event_fd());
  }
}

void Output::add(Source source, std::string_view bytes) {
  auto& sink = sink_of(source.stream);
  sink.merger.add(source, bytes, Clock::now());
  flush(sink);
}

void Output::end(Source source) {
  auto& sink = sink_of(source.stream);
  sink.merger.end(source);
  flush(sink);
}

void Output::end_all() {
  for (const int stream : {1, 2}) {
    sink_of(stream).merger.end_all();
    flush(sink_of(stream));
  }
}

void Output::message(std::string_view text) {
  auto& sink = sink_of(2);
  sink.merger.message(fmt::format("ronderun: {}", text));
  flush(sink);
}

bool Output::full() const {
  if (discarding_) return false;
  return out_->writer.waiting() > StreamWriter::kHighBytes ||
         (error_ && error_->writer.waiting() > StreamWriter::kHighBytes);
}

void Output::discard_when_full() {
  discarding_ = true;
  events_.room();
}

bool Output::idle() const { return out_->writer.waiting() == 0 && (!error_ || error_->writer.waiting() == 0); }

void Output::flush(Sink& sink) {
  if (!sink.merger.empty()) {
    auto bytes = sink.merger.take();
    const bool drop = discarding_ && sink.writer.waiting() > StreamWriter::kHighBytes;
    if (!drop) sink.writer.write(std::move(bytes));
  }
  if (sink.timer) reactor_.cancel(*sink.timer);
  sink.timer.reset();
  const auto deadline = sink.merger.next_deadline();
  if (deadline.time() == Time::max()) return;
  sink.timer = reactor_.call_at(deadline, [this, &sink] {
    sink.timer.reset();
    sink.merger.advance(Clock::now());
    flush(sink);
  });
}

void Output::writer_reports(Sink& sink) {
  sink.writer.acknowledge();
  if (sink.writer.error() != 0 && !sink.failed) {
    sink.failed = true;
    events_.failed(sink.stream, sink.writer.error());
  }
  if (!full()) events_.room();
}

}  // namespace ronde::launcher
