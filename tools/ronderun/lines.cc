#include "ronderun/lines.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace ronde::launcher {

void LineMerger::add(Source source, std::string_view bytes, Time now) {
  if (bytes.empty()) return;
  if (mode_.verbatim) {
    out_ += bytes;
    open_ = bytes.back() == '\n' ? std::nullopt : std::optional(source);
    return;
  }
  const auto last = bytes.rfind('\n');
  auto waiting = unfinished_.find(source);
  if (last != std::string_view::npos) {
    if (waiting != unfinished_.end()) {
      write(source, waiting->second.bytes);
      unfinished_.erase(waiting);
      waiting = unfinished_.end();
    }
    write(source, bytes.substr(0, last + 1));
    bytes.remove_prefix(last + 1);
  }
  if (bytes.empty()) return;
  if (mode_.live && open_ == source) {  // its line is on the screen already
    write(source, bytes);
    return;
  }
  if (waiting == unfinished_.end()) waiting = unfinished_.try_emplace(source, Unfinished{{}, now}).first;
  waiting->second.bytes += bytes;
  waiting->second.since = now;
  if (waiting->second.bytes.size() > kMaxLineBytes) end(source);
}

void LineMerger::end(Source source) {
  const auto waiting = unfinished_.find(source);
  if (waiting == unfinished_.end()) return;
  write(source, waiting->second.bytes);
  unfinished_.erase(waiting);
}

void LineMerger::end_all() {
  while (!unfinished_.empty()) end(unfinished_.begin()->first);
}

void LineMerger::message(std::string_view line) {
  if (open_) out_ += '\n';
  open_.reset();
  out_ += line;
  out_ += '\n';
}

Deadline LineMerger::next_deadline() const {
  if (!mode_.live || unfinished_.size() != 1) return Deadline::never();
  return Deadline::at(unfinished_.begin()->second.since + kShowAfter);
}

void LineMerger::advance(Time now) {
  if (next_deadline().passed(now)) end(unfinished_.begin()->first);
}

std::string LineMerger::take() { return std::exchange(out_, {}); }

void LineMerger::start_line(Source source) {
  if (mode_.prefix && source.rank >= 0) fmt::format_to(std::back_inserter(out_), "[{}] ", source.rank);
}

void LineMerger::write(Source source, std::string_view bytes) {
  if (open_ && open_ != source) {
    out_ += '\n';
    open_.reset();
  }
  if (!open_) start_line(source);
  const bool finished = bytes.back() == '\n';
  if (!mode_.prefix) {
    out_ += bytes;
  } else {
    while (!bytes.empty()) {
      const auto length = std::min(bytes.find('\n'), bytes.size() - 1) + 1;
      out_ += bytes.substr(0, length);
      bytes.remove_prefix(length);
      if (!bytes.empty()) start_line(source);
    }
  }
  open_ = finished ? std::nullopt : std::optional(source);
}

}  // namespace ronde::launcher
