#include "ronderun/options.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <array>
#include <cerrno>

#include "base/fd.h"
#include "base/retry.h"
#include "base/settings.h"

namespace ronde::launcher {
namespace {

constexpr const char* kUsage = "usage: ronderun -n RANKS [OPTIONS] PROGRAM [ARGUMENTS...]\n";
constexpr int kLongestTimeout = 100'000'000;
constexpr int kLongestGrace = 86'400;
constexpr size_t kMostHostfileBytes = 1 << 20;

constexpr const char* kFooter =
    R"(Everything after PROGRAM belongs to it. Each rank finds its place in RONDE_RANK, RONDE_NRANKS, RONDE_LOCAL_RANK
and RONDE_LOCAL_NRANKS, and what it needs to meet the others behind RONDE_ID_FD (rondeGetWorldFromEnv reads them).
Rank 0 gets the standard input, the others none. Output comes in whole lines.

Hosts: ranks fill the hosts in their order, HOST:SLOTS on each. On another host ronderun starts itself by
"RSH HOST /path/of/ronderun --agent"; it runs any command of that form, whether it hands the words to a shell (ssh) or
executes them ("ip netns exec"). The job and its secret go there over standard input. Variables RONDE_* and those named
by --env go along.

Exit status: 0 if every rank ended with 0; else that of the rank that failed first, which is named (128 + number when it
was killed by a signal); 124 after --timeout, 126 or 127 if PROGRAM cannot be executed or found, 2 for a wrong command
line, 1 if the job could not be started or a host was lost. With --keep-going ranks that are killed by a signal or lost
with their host do not count, as long as another one ends with 0. Interrupted (Ctrl-C) or terminated it ends the ranks
and then itself by the same signal; a second Ctrl-C kills them at once.

Example: ronderun -n 4 build/release/bin/allreduce_perf -b 8 -e 64M -f 2
)";

// The options as text, so that each error can say what is wanted.
struct Texts {
  std::optional<std::string> nranks, hosts, hostfile, rsh, timeout, grace;
  std::vector<std::string> environment;
};

void describe(CLI::App& app, Options& options, Texts& texts) {
  app.add_option("-n,--nranks", texts.nranks, "Number of ranks; default: all slots of the hosts, if they are given")
      ->type_name("RANKS");
  app.add_option("-H,--hosts", texts.hosts, "Hosts and how many ranks each may have")->type_name("HOST[:SLOTS],...");
  app.add_option("--hostfile", texts.hostfile, "The same from a file: HOST [slots=SLOTS] a line")->type_name("FILE");
  app.add_option("--rsh", texts.rsh, "How to run a command on another host; default: ssh")->type_name("COMMAND");
  app.add_option("--remote-path", options.remote_path, "Where ronderun lies on the other hosts; default: as here")
      ->type_name("PATH");
  app.add_option("--wdir", options.working_directory, "Directory in which the ranks run; default: this one")
      ->type_name("DIRECTORY");
  app.add_option("-x,--env", texts.environment, "A variable for all ranks; NAME alone: with its value here")
      ->type_name("NAME[=VALUE]")
      ->take_all()
      ->expected(1)
      ->allow_extra_args(false);
  app.add_flag("--prefix", options.prefix, "Begin each line of output with \"[rank] \"");
  app.add_option("--timeout", texts.timeout, "End the job after this time, with exit code 124")->type_name("SECONDS");
  app.add_option("--grace", texts.grace, "Time between asking a rank to end and killing it, at most 86400; default: 5")
      ->type_name("SECONDS");
  app.add_flag("--keep-going", options.keep_going,
               "Let the others go on when a rank fails: for programs that shrink (rondeCommShrink)");
  app.add_flag("-v,--verbose", options.verbose, "Say what is started and what ends");
  app.add_flag("--agent", options.agent, "The far side of ronderun on another host")->group("");
}

Status read_environment(const std::vector<std::string>& texts, Options& options) {
  for (const auto& text : texts) {
    const auto equals = text.find('=');
    const std::string name = text.substr(0, equals);
    if (name.empty()) return {rondeInvalidArgument, fmt::format("--env '{}': no name; write NAME=VALUE", text)};
    for (const char* own : {"RONDE_RANK", "RONDE_NRANKS", "RONDE_LOCAL_RANK", "RONDE_LOCAL_NRANKS", "RONDE_ID_FD",
                            "RONDE_BLACK_BOX_FD"}) {
      if (name == own) {
        return {rondeInvalidArgument,
                fmt::format("--env {}: ronderun sets this variable itself, for each rank to another value", name)};
      }
    }
    if (equals != std::string::npos) {
      options.environment.emplace_back(name, text.substr(equals + 1));
      continue;
    }
    const auto value = environment_variable(name.c_str());
    if (!value) {
      return {rondeInvalidArgument,
              fmt::format("--env {}: there is no such variable here; write --env {}=VALUE", name, name)};
    }
    options.environment.emplace_back(name, *value);
  }
  return {};
}

// Any file that has an end: it may come from a pipe.
Result<std::string> read_hostfile(const std::string& path) {
  const Fd file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  std::string content;
  std::array<char, 64 << 10> part;  // not zeroed
  ssize_t got = file.valid() ? 1 : -1;
  while (got > 0 && content.size() <= kMostHostfileBytes) {
    got = retry_interrupted([&] { return read(file.get(), part.data(), part.size()); });
    if (got > 0) content.append(part.data(), static_cast<size_t>(got));
  }
  if (got < 0) return system_error(fmt::format("--hostfile '{}' cannot be read", path), errno);
  if (content.size() > kMostHostfileBytes)
    return Status(rondeInvalidArgument,
                  fmt::format("--hostfile '{}' has more than {} bytes: that is no hostfile", path, kMostHostfileBytes));
  return content;
}

Result<std::vector<HostSlots>> read_hosts(const Texts& texts, std::string_view own_name) {
  if (texts.hosts && texts.hostfile) {
    return Status(rondeInvalidArgument, "--hosts and --hostfile are both given; take one of them");
  }
  if (texts.hosts) return parse_hosts(*texts.hosts);
  if (!texts.hostfile) return std::vector<HostSlots>{{std::string(own_name), kMaxRanks}};
  RONDE_ASSIGN(const std::string content, read_hostfile(*texts.hostfile));
  return parse_hostfile(*texts.hostfile, content);
}

Status convert(const Texts& texts, std::string_view own_name, Options& options) {
  const bool hosts_named = texts.hosts || texts.hostfile;
  if (texts.nranks) {
    RONDE_ASSIGN(options.nranks,
                 tools::parse_number(texts.nranks == "p" ? "-n (what mpirun writes as -np)" : "-n (--nranks)",
                                     *texts.nranks, 1, kMaxRanks));
  } else if (!hosts_named) {
    return {rondeInvalidArgument, "how many ranks? Give -n RANKS, as in 'ronderun -n 4 PROGRAM'"};
  }
  RONDE_ASSIGN(const auto hosts, read_hosts(texts, own_name));
  RONDE_ASSIGN(options.placements, place_ranks(options.nranks, hosts, own_name));
  options.nranks = options.placements.back().first_rank + options.placements.back().count;
  if (texts.rsh) {
    RONDE_ASSIGN(options.rsh, split_words(*texts.rsh));
  }
  if (texts.timeout) {
    RONDE_ASSIGN(options.timeout,
                 tools::parse_seconds("--timeout", *texts.timeout, tools::Zero::refused, kLongestTimeout));
  }
  if (texts.grace) {
    RONDE_ASSIGN(options.grace, tools::parse_seconds("--grace", *texts.grace, tools::Zero::allowed, kLongestGrace));
  }
  return read_environment(texts.environment, options);
}

// What CLI11 did not know: the program and all that follows, or a misspelt option in front of it.
Status take_command(std::vector<std::string> rest, Options& options) {
  if (!rest.empty() && rest.front() == "--") {
    rest.erase(rest.begin());
  } else if (!rest.empty() && rest.front().starts_with('-')) {
    return {rondeInvalidArgument, fmt::format("there is no option '{}'", rest.front())};
  }
  if (!rest.empty() && rest.front().find('=') != std::string::npos && rest.front().find('/') == std::string::npos) {
    return {rondeInvalidArgument, fmt::format("'{0}' is no program; a variable for the ranks is given by -x {0}, or "
                                              "before ronderun",
                                              rest.front())};
  }
  if (rest.empty() || rest.front().empty()) {
    return {rondeInvalidArgument, "which program? Name it after the options, as in 'ronderun -n 4 PROGRAM'"};
  }
  options.command = std::move(rest);
  return {};
}

}  // namespace

std::variant<Options, Refusal> parse_options(const std::vector<std::string>& arguments, std::string_view own_name) {
  if (arguments.empty()) return Refusal{2, "", fmt::format("{}Try 'ronderun --help'.\n", kUsage)};
  CLI::App app{"Starts the ranks of a job on this host or on several, and ends them together.", "ronderun"};
  tools::add_help(app, kUsage, kFooter);
  app.prefix_command();
  Options options;
  Texts texts;
  describe(app, options, texts);
  if (auto refusal = tools::take_apart(app, arguments)) return *refusal;
  if (options.agent) return options;
  Status status = take_command(app.remaining(), options);
  if (status.ok()) status = convert(texts, own_name, options);
  if (!status.ok()) return tools::refuse("ronderun", status.message());
  return options;
}

Result<std::vector<std::string>> split_words(std::string_view text) {
  std::vector<std::string> words;
  bool in_word = false;
  char quote = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quote == 0 && (c == ' ' || c == '\t')) {
      in_word = false;
      continue;
    }
    if (!in_word) words.emplace_back();
    in_word = true;
    if (c == quote) {
      quote = 0;
    } else if (quote == 0 && (c == '\'' || c == '"')) {
      quote = c;
    } else if (c == '\\' && quote != '\'' && i + 1 < text.size()) {
      words.back() += text[++i];
    } else {
      words.back() += c;
    }
  }
  if (quote != 0) return Status(rondeInvalidArgument, fmt::format("--rsh '{}': a {} is never closed", text, quote));
  if (words.empty()) return Status(rondeInvalidArgument, "--rsh names no command; write one, as in --rsh 'ssh -q'");
  return words;
}

std::string quote_word(std::string_view word) {
  const auto plain = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           std::string_view("_-./+:,@%=").find(c) != std::string_view::npos;
  };
  if (!word.empty() && std::all_of(word.begin(), word.end(), plain)) return std::string(word);
  std::string quoted = "'";
  for (const char c : word) {
    if (c == '\'') {
      quoted += "'\\''";
    } else {
      quoted += c;
    }
  }
  return quoted + "'";
}

}  // namespace ronde::launcher
