// Where the output of all ranks goes: ronderun's standard output and error, line by line (lines.h), written by threads
// (stream_writer.h). If both are the same terminal, pipe or file, they share one writer, and so the order.
#pragma once

#include <functional>
#include <memory>
#include <string_view>

#include "ronderun/lines.h"
#include "ronderun/reactor.h"
#include "ronderun/stream_writer.h"

namespace ronde::launcher {

class Output {
 public:
  struct Events {
    std::function<void()> room;                         // full() has become false
    std::function<void(int stream, int error)> failed;  // nothing can be written there any more; once a stream
  };
  // verbatim: the job has one rank and lines are not to be touched.
  Output(Reactor& reactor, bool verbatim, bool prefix, Events events);
  ~Output();

  void add(Source source, std::string_view bytes);
  void end(Source source);
  void end_all();
  void message(std::string_view text);  // "ronderun: text" on standard error

  [[nodiscard]] bool full() const;  // do not add more for now
  void discard_when_full();         // from now on nobody waits for a reader that does not read
  [[nodiscard]] bool discarding() const { return discarding_; }
  [[nodiscard]] bool idle() const;  // all is written

 private:
  struct Sink;
  Sink& sink_of(int stream) { return *(stream == 2 && error_ ? error_ : out_); }
  void flush(Sink& sink);
  void writer_reports(Sink& sink);

  Reactor& reactor_;
  Events events_;
  std::unique_ptr<Sink> out_;
  std::unique_ptr<Sink> error_;  // null: the same as out_
  bool discarding_ = false;
};

}  // namespace ronde::launcher
