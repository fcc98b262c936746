#include "doctor/options.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>

#include "ronde/ronde.h"
#include "ronderun/hosts.h"

namespace ronde::doctor {
namespace {

using launcher::kMaxRanks;
using launcher::parse_number;

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

class Formatter : public CLI::Formatter {
 public:
  std::string make_usage(const CLI::App* /*app*/, std::string /*name*/) const override { return kUsage; }
};

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

Refusal refuse(const std::string& message) {
  return {2, "", fmt::format("ronde-doctor: {}\nTry 'ronde-doctor --help'.\n", message)};
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
    RONDE_ASSIGN(options.nranks, parse_number("-n (--nranks)", *texts.nranks, 1, kMaxRanks));
  }
  if (texts.timeout) {
    if (options.mode != Mode::listen && options.mode != Mode::connect) {
      return {rondeInvalidArgument, "--timeout belongs to --listen and --connect"};
    }
    RONDE_ASSIGN(const int seconds, parse_number("--timeout", *texts.timeout, 1, 86'400));
    options.timeout = std::chrono::seconds(seconds);
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

// "[fd00::1]:4711" has its colon behind the bracket; in "fd00::1" there is no port.
Result<Target> parse_target(std::string_view text) {
  const auto wrong = [&] {
    return Status(rondeInvalidArgument,
                  fmt::format("--connect '{}': write ADDRESS, ADDRESS:PORT or [IPV6-ADDRESS]:PORT", text));
  };
  std::string_view host = text;
  std::string_view port;
  if (text.starts_with('[')) {
    const size_t end = text.find(']');
    if (end == std::string_view::npos) return wrong();
    host = text.substr(1, end - 1);
    port = text.substr(end + 1);
    if (!port.empty() && !port.starts_with(':')) return wrong();
  } else if (std::count(text.begin(), text.end(), ':') == 1) {
    host = text.substr(0, text.find(':'));
    port = text.substr(text.find(':'));
  }
  if (host.empty()) return wrong();
  Target target{std::string(host), 0};
  if (!port.empty()) {
    RONDE_ASSIGN(const int number, parse_number(fmt::format("the port of '{}'", text), port.substr(1), 1, 65'535));
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
  app.formatter(std::make_shared<Formatter>());
  app.set_help_flag("-h,--help", "Print this");
  app.footer(kFooter);
  const auto version = fmt::format("ronde-doctor {}.{}.{}", RONDE_MAJOR, RONDE_MINOR, RONDE_PATCH);
  app.set_version_flag("--version", version, "Print the version");
  Options options;
  Texts texts;
  describe(app, options, texts);
  try {
    app.parse(std::vector<std::string>(arguments.rbegin(), arguments.rend()));  // CLI11 takes the last one first
  } catch (const CLI::CallForHelp&) {
    return Refusal{0, app.help(), ""};
  } catch (const CLI::CallForVersion&) {
    return Refusal{0, version + "\n", ""};
  } catch (const CLI::ParseError& error) {
    return refuse(error.what());
  }
  if (app.count("--listen") > 0 && !texts.listen) texts.listen = "";
  if (auto status = convert(texts, options); !status.ok()) return refuse(status.message());
  return options;
}

}  // namespace ronde::doctor
