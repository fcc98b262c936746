// What the command lines of the tools have in common: how they are taken apart, and the one way to refuse one. Which
// options a tool has is its own business.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/deadline.h"
#include "base/status.h"

namespace CLI {
class App;
}

namespace ronde::tools {

// The command line asks for nothing to be done (help, version) or is wrong: print both texts and end with this code.
struct Refusal {
  int exit_code = 0;
  std::string out;
  std::string error;
};

// Of a wrong command line: exit code 2, the message, and where help is.
Refusal refuse(std::string_view program, std::string_view message);
// Prints it; the exit code.
int print(const Refusal& refusal);

// "0.1.0", of this library.
std::string version();
// "PROGRAM 0.1.0".
std::string version_text(std::string_view program);

// Gives the app, which has the program's name, --help with this usage and footer, and --version.
void add_help(CLI::App& app, const std::string& usage, const std::string& footer);

// Fills the variables of the app's options. All options should be text, so that the program's own message can say what
// an option wants. An app with prefix_command keeps what it does not know; else that is refused.
std::optional<Refusal> take_apart(CLI::App& app, const std::vector<std::string>& arguments);

// A whole number from low to high and nothing else. rondeInvalidArgument, here and below: says what `what` wants.
Result<int> parse_number(std::string_view what, std::string_view text, int low, int high);

// A number of seconds up to high, fractions allowed, rounded up to milliseconds.
enum class Zero { allowed, refused };
Result<Milliseconds> parse_seconds(std::string_view what, std::string_view text, Zero zero, int high);

// A host's name or address, and the number behind its colon if there is one: "node1", "node1:4", "[fd00::1]:4",
// "[fd00::1]" and "fd00::1", which has none. rondeInvalidArgument: only the reason. The parts point into the text.
struct HostNumber {
  std::string_view host;
  std::optional<std::string_view> number;
};
Result<HostNumber> split_host(std::string_view text);

}  // namespace ronde::tools
