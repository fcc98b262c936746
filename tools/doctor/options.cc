#include "doctor/options.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>

#include "bootstrap/messages.h"

namespace ronde::doctor {
namespace {

using tools::parse_number;

constexpr const char* kUsage =
    "usage: ronde-doctor [-n RANKS] [--json]\n"
    "       ronde-doctor --settings [--json]\n"
    "       ronde-doctor --listen [PORT] [--timeout SECONDS]\n"
    "       ronde-doctor --connect ADDRESS[:PORT],... [--timeout SECONDS] [--json]\n";

constexpr const char* kFooter =
    R"(Without --settings, --listen or --connect it checks this machine: one line for each thing that the start of a
communicator needs, with a remedy where something is wrong. It obeys the same RONDE_ settings as the library.

Whether one machine reaches another: run "ronde-doctor --listen" on one, and on the others the line that it prints. Both
show nothing secret, and end by themselves.

Exit status: 0 if there is no problem, 1 if there is one, 2 for a wrong command line.
)";

// The options as text, so that each error can say what is wanted.
struct Texts {
  std::optional<std::string> nranks, listen, connect, timeout;
  bool settings = false;
};

void describe(CLI::App& app, Options& options, Texts& texts) {
  app.add_option("-n,--nranks", texts.nranks, "Ranks that are to run on this machine; default: one for each usable CPU")
      ->type_name("RANKS");
  app.add_flag("--settings", texts.settings, "Show all settings, their values and where those come from");
  app.add_option("--listen", texts.listen, "Wait for others to connect; default: RONDE_PORT, or any free port")
      ->type_name("[PORT]")
      ->expected(0, 1);
  app.add_option("--connect", texts.connect, "Connect to a machine on which --listen waits")
      ->type_name("ADDRESS[:PORT],...");
  app.add_option("--timeout", texts.timeout,
                 "How long to listen (default: 300), or to wait for each address (default: 5)")
      ->type_name("SECONDS");
  app.add_flag("--json", options.json, "Print one JSON document");
}

Status convert(const Texts& texts, Options& options) {
  if (int(texts.settings) + int(texts.listen.has_value()) + int(texts.connect.has_value()) > 1) {
    return {rondeInvalidArgument, "take one of --settings, --listen and --connect"};
  }
  if (texts.settings) options.mode = Mode::settings;
  if (texts.listen) options.mode = Mode::listen;
  if (texts.connect) options.mode = Mode::connect;
  if (texts.nranks) {
    if (options.mode != Mode::check) return {rondeInvalidArgument, "-n belongs to the check of this machine only"};
    RONDE_ASSIGN(options.nranks, parse_number("-n (--nranks)", *texts.nranks, 1, kMostRanks));
  }
  if (texts.timeout) {
    if (options.mode != Mode::listen && options.mode != Mode::connect) {
      return {rondeInvalidArgument, "--timeout belongs to --listen and --connect"};
    }
    RONDE_ASSIGN(options.timeout, parse_seconds("--timeout", *texts.timeout, tools::Zero::refused, 86'400));
  }
  if (options.json && options.mode == Mode::listen) {
    return {rondeInvalidArgument, "--listen has no --json; --connect has it"};
  }
  if (texts.listen && !texts.listen->empty()) {
    RONDE_ASSIGN(const int port, parse_number("--listen", *texts.listen, 1, 65'535));
    options.listen_port = static_cast<uint16_t>(port);
  }
  if (texts.connect) {
    RONDE_ASSIGN(options.targets, parse_targets(*texts.connect));
  }
  return {};
}

Result<Target> parse_target(std::string_view text) {
  const auto split = tools::split_host(text);
  if (!split.ok()) {
    return Status(rondeInvalidArgument,
                  fmt::format("--connect '{}': {}; write ADDRESS, ADDRESS:PORT or [IPV6-ADDRESS]:PORT", text,
                              split.status().message()));
  }
  Target target{std::string(split->host), 0};
  if (split->number) {
    RONDE_ASSIGN(const int number, parse_number(fmt::format("the port of '{}'", text), *split->number, 1, 65'535));
    target.port = static_cast<uint16_t>(number);
  }
  return target;
}

}  // namespace

Result<std::vector<Target>> parse_targets(std::string_view text) {
  std::vector<Target> targets;
  for (size_t begin = 0; begin <= text.size();) {
    const size_t comma = std::min(text.find(',', begin), text.size());
    RONDE_ASSIGN(Target target, parse_target(text.substr(begin, comma - begin)));
    targets.push_back(std::move(target));
    begin = comma + 1;
  }
  return targets;
}

std::variant<Options, Refusal> parse_options(const std::vector<std::string>& arguments) {
  CLI::App app{"Finds out what is wrong with this machine, its network or its settings for Ronde.", "ronde-doctor"};
  tools::add_help(app, kUsage, kFooter);
  Options options;
  Texts texts;
  describe(app, options, texts);
  if (auto refusal = tools::take_apart(app, arguments)) return *refusal;
  if (app.count("--listen") > 0 && !texts.listen) texts.listen = "";
  if (auto status = convert(texts, options); !status.ok()) return tools::refuse("ronde-doctor", status.message());
  return options;
}

}  // namespace ronde::doctor
