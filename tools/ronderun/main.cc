// ronderun: starts the ranks of a job on this host or on several, and ends them together. See ronderun --help.
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <optional>

#include "ronderun/agent.h"
#include "ronderun/coordinator.h"
#include "ronderun/meeting.h"
#include "ronderun/options.h"
#include "ronderun/signals.h"

namespace {

using namespace ronde::launcher;

int refuse(const std::string& message, int exit_code) {
  fmt::print(stderr, "ronderun: {}\n", message);
  return exit_code;
}

std::string own_path() {
  std::array<char, 4096> path;
  const ssize_t size = readlink("/proc/self/exe", path.data(), path.size());
  return size > 0 ? std::string(path.data(), static_cast<size_t>(size)) : "ronderun";
}

int run_agent(const Inherited& inherited) {
  return Agent(ronde::Fd(fcntl(0, F_DUPFD_CLOEXEC, 3)), ronde::Fd(fcntl(1, F_DUPFD_CLOEXEC, 3)), inherited).run();
}

ronde::Result<Outcome> run_job(Options& options, const Inherited& inherited) {
  if (options.remote_path.empty()) options.remote_path = own_path();
  for (const auto& [name, value] : options.environment) {
    // Settings of the library hold for the meeting too.
    if (name.starts_with("RONDE_")) setenv(name.c_str(), value.c_str(), 1);
  }
  std::optional<AgentProcess> local_agent;
  for (const auto& placement : options.placements) {
    if (!placement.local) continue;
    RONDE_ASSIGN(local_agent, fork_agent(inherited));  // before the first thread
  }
  RONDE_ASSIGN(const auto meeting, Meeting::create());
  return Coordinator(options, inherited, meeting->id_text(), std::move(local_agent)).run();
}

int run(const std::vector<std::string>& arguments) {
  const Inherited inherited = take_over();
  auto parsed = parse_options(arguments, own_host_name());
  if (const auto* refusal = std::get_if<Refusal>(&parsed)) return ronde::tools::print(*refusal);
  auto& options = std::get<Options>(parsed);
  if (options.agent) return run_agent(inherited);
  const auto outcome = run_job(options, inherited);
  if (!outcome.ok()) return refuse(outcome.status().message(), outcome.status().code() == rondeInvalidUsage ? 2 : 1);
  if (outcome->signal != 0) end_by_signal(outcome->signal);
  return outcome->exit_code;
}

}  // namespace

int main(int argc, char** argv) try {
  return run(std::vector<std::string>(argv + 1, argv + argc));
} catch (const std::exception& error) {
  std::fprintf(stderr, "ronderun: %s\n", error.what());
  return 1;
}
