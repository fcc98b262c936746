// Merges the output of many ranks into one, line by line. Pure: fed with bytes and times, returns bytes.
#pragma once

#include <compare>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "base/deadline.h"

namespace ronde::launcher {

// What comes out of one file descriptor of one rank. rank -1: a remote shell, which has no prefix.
struct Source {
  int rank = 0;
  int stream = 1;
  auto operator<=>(const Source&) const = default;  // NOLINT(modernize-use-nullptr): a false alarm of clang-tidy 14
};

// One place that output goes to. Lines of different sources never mix: an unfinished line waits for its end.
// Exceptions, after which a line of another source begins on a fresh line:
//   - a source has ended: the rest comes out as it is,
//   - `live` (a terminal): if exactly one source has an unfinished line, and that for 100 ms, it is shown (progress,
//     questions),
//   - a line is longer than 1 MiB: it comes out in pieces.
// In mode `verbatim` (one rank, no prefix) all bytes come out at once and unchanged.
class LineMerger {
 public:
  struct Mode {
    bool verbatim = false;
    bool prefix = false;
    bool live = false;
  };
  static constexpr Milliseconds kShowAfter{100};
  static constexpr size_t kMaxLineBytes = 1 << 20;

  explicit LineMerger(Mode mode) : mode_(mode) {}

  void add(Source source, std::string_view bytes, Time now);
  void end(Source source);
  void end_all();
  // A line of ronderun's own.
  void message(std::string_view line);
  void advance(Time now);
  [[nodiscard]] Deadline next_deadline() const;

  [[nodiscard]] bool empty() const { return out_.empty(); }
  [[nodiscard]] std::string take();

 private:
  struct Unfinished {
    std::string bytes;
    Time since;
  };
  void write(Source source, std::string_view bytes);
  void start_line(Source source);

  Mode mode_;
  std::map<Source, Unfinished> unfinished_;  // of sources whose last line has no end yet; none is empty
  std::optional<Source> open_;               // whose line the output ends in, if it ends within one
  std::string out_;
};

}  // namespace ronde::launcher
