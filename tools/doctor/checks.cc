#include "doctor/checks.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "bootstrap/launcher.h"

namespace ronde::doctor {
namespace {

std::string remedy_for(const SettingState& state) {
  const std::string_view fallback = state.help.default_value;
  return fmt::format("set {0} to: {1}; or unset {0}{2}", state.help.name, state.help.allowed,
                     fallback.empty() ? "" : fmt::format(" (default: {})", fallback));
}

}  // namespace

std::vector<Finding> check_settings(const SettingsSurvey& survey) {
  std::vector<Finding> findings;
  for (const SettingState& state : survey.states) {
    if (!state.problem.ok()) findings.push_back(problem_of("setting", state.problem, remedy_for(state)));
  }
  for (const UnknownSetting& unknown : survey.unknown) {
    const std::string hint = unknown.nearest.empty() ? "" : fmt::format("did you mean {}? Else: ", unknown.nearest);
    findings.push_back({State::warning, "setting", fmt::format("{} is not a setting and has no effect", unknown.name),
                        fmt::format("{}unset {}", hint, unknown.name)});
  }
  if (!findings.empty()) return findings;
  const auto given = std::count_if(survey.states.begin(), survey.states.end(),
                                   [](const SettingState& state) { return state.from_environment; });
  findings.push_back(
      {State::ok, "settings", fmt::format("{} of {} set in the environment", given, survey.states.size())});
  return findings;
}

Finding check_launcher() {
  const auto launcher = detect_launcher();
  if (!launcher.ok()) return problem_of("launcher", launcher.status());
  if (!*launcher) return {State::ok, "launcher", "none: a program started here is a job of one rank"};
  const World& world = (*launcher)->world;
  return {State::ok, "launcher", fmt::format("{}: rank {} of {}", (*launcher)->name, world.rank, world.nranks)};
}

std::vector<Finding> check_machine(int nranks, const SettingsSurvey& survey) {
  std::vector<Finding> findings = check_settings(survey);
  const auto add = [&findings](std::vector<Finding> more) {
    std::move(more.begin(), more.end(), std::back_inserter(findings));
  };
  add({check_launcher(), check_cpus(nranks), check_memory(nranks), check_open_files(nranks),
       check_shared_memory(nranks, survey.settings), check_wakeups()});
  add(check_network(survey.settings));
  add(check_named_places(survey.settings));
  return findings;
}

}  // namespace ronde::doctor
