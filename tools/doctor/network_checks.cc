// The part of checks.h that looks at interfaces, ports, and at files that settings name.
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include "api/options.h"
#include "base/log.h"
#include "base/socket.h"
#include "bootstrap/rendezvous.h"
#include "bootstrap/secret_file.h"
#include "doctor/checks.h"
#include "doctor/reach.h"

namespace ronde::doctor {
namespace {

constexpr Milliseconds kConnectLimit{2000};

// Listens on one of this machine's addresses and connects to it.
Status try_address(const SocketAddress& address) {
  RONDE_ASSIGN(const Listener listener, listen_tcp(address, 0));
  return connect_to(address.with_port(listener.port), Deadline::after(kConnectLimit)).status();
}

Finding check_address(const InterfaceAddress& interface, bool first) {
  const std::string what = "network " + interface.interface;
  const std::string address = address_text(interface.address);
  if (const Status status = try_address(interface.address); !status.ok()) {
    return {State::warning, what, fmt::format("{}: {}", address, status.message()),
            fmt::format("a firewall of this machine must let it reach itself; or leave the interface out: "
                        "RONDE_SOCKET_IFNAME=^{}",
                        interface.interface)};
  }
  std::string value = address + " can be listened on and reached from here";
  if (first && !interface.address.is_loopback()) value += "; others try it first";
  if (interface.address.is_loopback()) value += "; no other machine can reach it";
  return {State::ok, what, value};
}

Finding check_port(const Settings& settings) {
  const auto port = static_cast<uint16_t>(settings.port);
  const std::string what = fmt::format("RONDE_PORT {}", port);
  const auto listeners = listen_for_ranks(api::rendezvous_options(settings), port);
  if (listeners.ok()) return {State::ok, what, "free"};
  const std::string owner = owner_of_port(port);
  return {State::problem, what, listeners.status().message(),
          owner.empty() ? fmt::format("find out who has it, as administrator: ss -ltnp 'sport = :{}'", port)
                        : fmt::format("{} has it: end that program, or set RONDE_PORT to another port", owner)};
}

Finding check_secret_file(const std::string& path) {
  const auto secret = read_secret_file(path);
  if (!secret.ok()) return problem_of("secret file", secret.status(), "mend the file, or unset RONDE_SECRET_FILE");
  return {State::ok, "secret file", path + " can be read, and by its owner only"};
}

// Opens it as the library does, and takes away what was made by that.
Status try_log_file(const std::string& path) {
  const std::string name = log::file_name(path);
  struct stat about {};
  const bool was_there = ::lstat(name.c_str(), &about) == 0;  // a link that leads nowhere is the user's, too
  RONDE_TRY(log::set_file(path));
  if (!was_there) ::unlink(name.c_str());
  return {};
}

Finding check_log_file(const std::string& path) {
  const Status status = try_log_file(path);
  if (!status.ok()) return problem_of("log file", status, "set RONDE_LOG_FILE to a path in a folder that is there");
  return {State::ok, "log file", path + " can be written"};
}

Status try_interfaces(const Settings& settings) {
  const Status status = local_interfaces(settings.socket_ifname, family_by_name(settings.socket_family)).status();
  return status.code() == rondeInvalidUsage ? status : Status();
}

}  // namespace

std::vector<Finding> check_network(const Settings& settings) {
  std::vector<Finding> findings;
  const auto interfaces = local_interfaces(settings.socket_ifname, family_by_name(settings.socket_family));
  if (!interfaces.ok()) {
    const bool chosen = interfaces.status().code() == rondeInvalidUsage;
    findings.push_back(problem_of(
        "network", interfaces.status(),
        chosen ? "name interfaces that are there, or unset RONDE_SOCKET_IFNAME and RONDE_SOCKET_FAMILY" : ""));
    return findings;
  }
  bool any_works = false;
  for (const InterfaceAddress& interface : *interfaces) {
    findings.push_back(check_address(interface, interfaces->size() > 1 && findings.empty()));
    any_works = any_works || findings.back().state == State::ok;
  }
  if (!any_works) {
    for (Finding& finding : findings) finding.state = State::problem;
  }
  return findings;
}

std::vector<Finding> check_named_places(const Settings& settings) {
  std::vector<Finding> findings;
  if (settings.port != 0) findings.push_back(check_port(settings));
  if (!settings.secret_file.empty()) findings.push_back(check_secret_file(settings.secret_file));
  if (!settings.log_file.empty()) findings.push_back(check_log_file(settings.log_file));
  return findings;
}

void try_settings(SettingsSurvey& survey) {
  const Settings& settings = survey.settings;
  for (SettingState& state : survey.states) {
    const std::string_view name = state.help.name;
    if (!state.problem.ok() || !state.from_environment || state.value.empty()) continue;
    if (name == "RONDE_SOCKET_IFNAME") state.problem = try_interfaces(settings);
    if (name == "RONDE_SOCKET_FAMILY" && settings.socket_ifname.empty()) state.problem = try_interfaces(settings);
    if (name == "RONDE_SECRET_FILE") state.problem = read_secret_file(settings.secret_file).status();
    if (name == "RONDE_LOG_FILE") state.problem = try_log_file(settings.log_file);
  }
}

}  // namespace ronde::doctor
