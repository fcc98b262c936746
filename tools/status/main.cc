// ronde-status: what the communicators of this user's processes on this host do, and who waits for whom.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cerrno>
#include <cstdio>
#include <exception>
#include <optional>
#include <string>
#include <system_error>
#include <variant>
#include <vector>

#include "base/printable.h"
#include "common/command_line.h"
#include "status/report.h"
#include "status/scan.h"

namespace {

constexpr const char* kUsage = "usage: ronde-status [-n COUNT] [--all] [--json] [FILE...]\n";
constexpr const char* kDescription =
    "Shows what the ranks of running jobs on this host do, and who waits for whom. It reads the black boxes that\n"
    "processes keep of their last operations, through /proc, and disturbs nobody. It sees processes of the same user\n"
    "(root: of all users). With FILE arguments it shows what ended processes left in them instead, as of the last\n"
    "moment in the files; a folder stands for all black boxes in it: ronde-status traces where RONDE_TRACE_DIR was\n"
    "traces.\n";
constexpr const char* kFooter =
    "State of a rank: starts; works (in an operation that moves), waits (nothing has moved for 0.1 s), idle (between\n"
    "operations), shrinks (in rondeCommShrink), failed, destroyed (its communicator; with --all), stopped (by a\n"
    "signal or a debugger), ended (its process; another one still holds its box).\n"
    "\n"
    "Exit status: 0; 1 if a FILE cannot be read; 2 for a wrong command line.\n";

using ronde::tools::Refusal;

constexpr int kMostOperations = ronde::black_box::kOperations;

struct Arguments {
  size_t operations = 1;
  bool all = false;
  bool json = false;
  std::vector<std::string> files;
};

std::variant<Arguments, Refusal> parse_arguments(const std::vector<std::string>& words) {
  Arguments arguments;
  std::optional<std::string> operations;
  CLI::App app(kDescription, "ronde-status");
  ronde::tools::add_help(app, kUsage, kFooter);
  app.add_option("-n,--operations", operations,
                 fmt::format("Show so many of each rank's last operations, 1 to {}; default: 1", kMostOperations))
      ->type_name("COUNT");
  app.add_flag("-a,--all", arguments.all, "Also communicators that are destroyed, and jobs whose ranks have ended");
  app.add_flag("--json", arguments.json, "For programs");
  app.add_option("files", arguments.files,
                 "Black boxes that ended processes left (RONDE_TRACE_DIR), or folders of them")
      ->type_name("FILE");
  if (auto refusal = ronde::tools::take_apart(app, words)) return *refusal;
  if (!operations) return arguments;
  const auto count = ronde::tools::parse_number("-n (--operations)", *operations, 1, kMostOperations);
  if (!count.ok()) return ronde::tools::refuse("ronde-status", count.status().message());
  arguments.operations = static_cast<size_t>(*count);
  return arguments;
}

int run(const std::vector<std::string>& words) {
  const auto parsed = parse_arguments(words);
  if (const auto* refusal = std::get_if<Refusal>(&parsed)) return ronde::tools::print(*refusal);
  const auto& arguments = std::get<Arguments>(parsed);
  const bool live = arguments.files.empty();
  const ronde::status::Found found = live ? ronde::status::find_processes(arguments.operations)
                                          : ronde::status::read_files(arguments.files, arguments.operations);
  for (const std::string& problem : found.problems) fmt::print(stderr, "ronde-status: {}\n", ronde::printable(problem));
  const int exit_code = live || found.problems.empty() ? 0 : 1;
  if (!live && found.processes.empty() && !arguments.json) return 1;
  const auto communicators = ronde::status::communicators_of(found.processes, arguments.all || !live);
  if (arguments.json) {
    fmt::print("{}", ronde::status::as_json(communicators, found.as_of));
  } else if (communicators.empty()) {
    fmt::print("{}\n", live ? "No process that this user may look at has a communicator of Ronde."
                            : "No rank has written these files.");
  } else {
    fmt::print("{}", ronde::status::as_text(communicators, arguments.operations, found.as_of));
  }
  if (std::fflush(stdout) != 0) throw std::system_error(errno, std::generic_category(), "cannot write the output");
  return exit_code;
}

}  // namespace

int main(int argc, char** argv) try {
  return run(std::vector<std::string>(argv + 1, argv + argc));
} catch (const std::exception& error) {
  std::fprintf(stderr, "ronde-status: %s\n", error.what());
  return 1;
}
