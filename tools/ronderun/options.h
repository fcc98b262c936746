// The command line of ronderun: what is allowed, what it means, and what is said when it is wrong. Starts nothing.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/deadline.h"
#include "base/status.h"
#include "common/command_line.h"
#include "ronderun/hosts.h"

namespace ronde::launcher {

struct Options {
  bool agent = false;  // the far side: everything else comes over standard input
  int nranks = 0;
  std::vector<Placement> placements;
  std::vector<std::string> rsh{"ssh"};
  std::string remote_path;        // of ronderun on the other hosts; empty: as here
  std::string working_directory;  // empty: the current one
  std::vector<std::pair<std::string, std::string>> environment;
  bool prefix = false;
  bool verbose = false;
  bool keep_going = false;
  std::optional<Milliseconds> timeout;
  Milliseconds grace{5000};
  std::vector<std::string> command;  // PROGRAM and its arguments
};

using tools::Refusal;

// own_name: this host's name. Reads the hostfile and, for --env NAME, the environment.
std::variant<Options, Refusal> parse_options(const std::vector<std::string>& arguments, std::string_view own_name);

// A shell-like split at blanks, with '...', "..." and backslash; for --rsh.
Result<std::vector<std::string>> split_words(std::string_view text);
// The word as a POSIX shell must read it; unchanged where it needs no quotes.
std::string quote_word(std::string_view word);

}  // namespace ronde::launcher
