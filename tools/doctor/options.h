// The command line of ronde-doctor: what is allowed, what it means, and what is said when it is wrong.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/deadline.h"
#include "base/status.h"
#include "common/command_line.h"

namespace ronde::doctor {

enum class Mode { check, settings, listen, connect };

// A machine to be reached, as it was named.
struct Target {
  std::string host;   // a name or a numeric address, without brackets
  uint16_t port = 0;  // 0: not given
  bool operator==(const Target&) const = default;
};

struct Options {
  Mode mode = Mode::check;
  bool json = false;
  std::optional<int> nranks;
  uint16_t listen_port = 0;  // 0: not given
  std::vector<Target> targets;
  std::optional<Milliseconds> timeout;
};

using tools::Refusal;

std::variant<Options, Refusal> parse_options(const std::vector<std::string>& arguments);

// "host", "host:port", "fd00::1" or "[fd00::1]:port", comma-separated. rondeInvalidArgument names what is wrong.
Result<std::vector<Target>> parse_targets(std::string_view text);

}  // namespace ronde::doctor
