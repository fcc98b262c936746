#include "common/command_line.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <memory>
#include <system_error>

#include "base/printable.h"
#include "ronde/ronde.h"

namespace ronde::tools {
namespace {

class Formatter : public CLI::Formatter {
 public:
  explicit Formatter(std::string usage) : usage_(std::move(usage)) {}
  std::string make_usage(const CLI::App* /*app*/, std::string /*name*/) const override { return usage_; }

 private:
  std::string usage_;
};

// CLI11 begins with the option: "--timeout: 1 required SECONDS missing", "--timeout: At Most 1 required but received
// 2".
std::string mismatch_text(const CLI::App& app, const std::string& text) {
  const std::string name = text.substr(0, text.find(':'));
  const CLI::Option* option = app.get_option_no_throw(name);
  if (option == nullptr) return text;
  if (text.ends_with("missing")) return fmt::format("{} wants {} after it", name, option->get_type_name());
  return fmt::format("{} is given more than once", name);
}

// Options being text, only a flag that got a value cannot be converted: "Could not convert: --json = 3".
std::string conversion_text(const std::string& text) {
  const size_t begin = text.find("--");
  const size_t end = text.find(" = ");
  if (begin == std::string::npos || end == std::string::npos || begin > end) return text;
  return fmt::format("{} takes no value", text.substr(begin, end - begin));
}

std::string unknown_text(const std::string& word) {
  const size_t name_end = word.find('=');
  if (!word.starts_with('-')) return fmt::format("'{}' belongs to no option", word);
  return fmt::format("there is no option '{}'", word.substr(0, name_end));
}

}  // namespace

Refusal refuse(std::string_view program, std::string_view message) {
  return {2, "", fmt::format("{0}: {1}\nTry '{0} --help'.\n", program, printable(message))};
}

int print(const Refusal& refusal) {
  fmt::print(stdout, "{}", refusal.out);
  if (std::fflush(stdout) != 0) throw std::system_error(errno, std::generic_category(), "cannot write the output");
  fmt::print(stderr, "{}", refusal.error);
  return refusal.exit_code;
}

std::string version() { return fmt::format("{}.{}.{}", RONDE_MAJOR, RONDE_MINOR, RONDE_PATCH); }

std::string version_text(std::string_view program) { return fmt::format("{} {}", program, version()); }

void add_help(CLI::App& app, const std::string& usage, const std::string& footer) {
  app.formatter(std::make_shared<Formatter>(usage));
  app.set_help_flag("-h,--help", "Print this");
  app.set_version_flag("--version", version_text(app.get_name()), "Print the version");
  app.footer(footer);
}

std::optional<Refusal> take_apart(CLI::App& app, const std::vector<std::string>& arguments) {
  const bool keeps_unknown = app.get_prefix_command();
  if (!keeps_unknown) app.allow_extras();  // to name the first of them
  try {
    app.parse(std::vector<std::string>(arguments.rbegin(), arguments.rend()));  // CLI11 takes the last one first
  } catch (const CLI::CallForHelp&) {
    return Refusal{0, app.help(), ""};
  } catch (const CLI::CallForVersion& version) {
    return Refusal{0, fmt::format("{}\n", version.what()), ""};
  } catch (const CLI::ArgumentMismatch& error) {
    return refuse(app.get_name(), mismatch_text(app, error.what()));
  } catch (const CLI::ConversionError& error) {
    return refuse(app.get_name(), conversion_text(error.what()));
  } catch (const CLI::ParseError& error) {
    return refuse(app.get_name(), error.what());
  }
  std::vector<std::string> unknown = app.remaining();
  std::erase(unknown, "--");  // which CLI11 keeps among them
  if (!keeps_unknown && !unknown.empty()) return refuse(app.get_name(), unknown_text(unknown.front()));
  return std::nullopt;
}

Result<int> parse_number(std::string_view what, std::string_view text, int low, int high) {
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < low || value > high) {
    return Status(rondeInvalidArgument,
                  fmt::format("{} wants a whole number from {} to {}, not '{}'", what, low, high, text));
  }
  return value;
}

Result<Milliseconds> parse_seconds(std::string_view what, std::string_view text, Zero zero, int high) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, std::chars_format::fixed);
  const bool number = error == std::errc() && end == text.data() + text.size();
  const bool too_small = !(value >= 0) || (value == 0 && zero == Zero::refused);  // not a number: too small
  if (!number || too_small || value > high) {
    return Status(rondeInvalidArgument,
                  fmt::format("{} wants a number of seconds {} {}, not '{}'", what,
                              zero == Zero::allowed ? "from 0 to" : "above 0, at most", high, text));
  }
  return Milliseconds(static_cast<long long>(value * 1000 + 0.999));
}

Result<HostNumber> split_host(std::string_view text) {
  HostNumber result{text, std::nullopt};
  if (text.starts_with('[')) {
    const size_t close = text.find(']');
    if (close == std::string_view::npos) return Status(rondeInvalidArgument, "the ] is missing");
    result.host = text.substr(1, close - 1);
    const std::string_view rest = text.substr(close + 1);
    if (!rest.empty() && rest[0] != ':') return Status(rondeInvalidArgument, "only a colon may come after the ]");
    if (!rest.empty()) result.number = rest.substr(1);
  } else if (std::count(text.begin(), text.end(), ':') == 1) {
    result.host = text.substr(0, text.find(':'));
    result.number = text.substr(text.find(':') + 1);
  }
  if (result.host.empty()) return Status(rondeInvalidArgument, "it has no name");
  return result;
}

}  // namespace ronde::tools
