#include "doctor/report.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/printable.h"
#include "common/command_line.h"

namespace ronde::doctor {
namespace {

using Json = nlohmann::ordered_json;

constexpr size_t kLongestShown = 60;

const char* state_text(State state) {
  if (state == State::ok) return "ok";
  return state == State::warning ? "warning" : "problem";
}

size_t count_of(const std::vector<Finding>& findings, State state) {
  return static_cast<size_t>(std::count_if(findings.begin(), findings.end(),
                                           [state](const Finding& finding) { return finding.state == state; }));
}

// A value of the environment may hold what a terminal takes for a command.
std::string shown(const std::string& value) {
  if (value.size() <= kLongestShown) return printable(value);
  return printable(value.substr(0, kLongestShown)) + "...";
}

std::string number_of(size_t count, const char* what) {
  return fmt::format("{} {}{}", count == 0 ? "no" : std::to_string(count), what, count == 1 ? "" : "s");
}

// The environment may hold bytes that are no UTF-8; they must not cost the whole document.
std::string dump(const Json& json) { return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n"; }

Json with_head() {
  Json json;
  json["program"] = "ronde-doctor";
  json["version"] = tools::version();
  return json;
}

}  // namespace

std::string findings_text(std::string_view heading, const std::vector<Finding>& findings) {
  size_t width = 0;
  for (const Finding& finding : findings) width = std::max(width, printable(finding.what).size());
  std::string text = fmt::format("{}\n\n", heading);
  for (const Finding& finding : findings) {
    text += fmt::format("{:<9}{:<{}}  {}\n", state_text(finding.state), printable(finding.what), width,
                        printable(finding.value));
    if (!finding.remedy.empty()) text += fmt::format("{:{}}-> {}\n", "", 9 + width + 2, printable(finding.remedy));
  }
  return text + fmt::format("\n{}, {}\n", number_of(count_of(findings, State::problem), "problem"),
                            number_of(count_of(findings, State::warning), "warning"));
}

std::string findings_json(const std::vector<Finding>& findings) {
  Json json = with_head();
  json["findings"] = Json::array();
  for (const Finding& finding : findings) {
    json["findings"].push_back({{"state", state_text(finding.state)},
                                {"what", finding.what},
                                {"value", finding.value},
                                {"remedy", finding.remedy}});
  }
  json["problems"] = count_of(findings, State::problem);
  json["warnings"] = count_of(findings, State::warning);
  return dump(json);
}

std::string settings_text(const SettingsSurvey& survey) {
  constexpr const char* kRow = "{:<23}{:<16}{:<13}{}\n";
  std::string text = fmt::format(kRow, "setting", "value", "from", "default");
  for (const SettingState& state : survey.states) {
    const std::string value = state.value.empty() ? "-" : shown(state.value);
    const std::string_view fallback = state.help.default_value.empty() ? "-" : state.help.default_value;
    text += fmt::format(kRow, state.help.name, value, state.from_environment ? "environment" : "default", fallback);
    text += fmt::format("    {}\n    Allowed: {}.\n", state.help.help, state.help.allowed);
    if (!state.problem.ok()) text += fmt::format("    problem: {}\n", printable(state.problem.message()));
  }
  for (const UnknownSetting& unknown : survey.unknown) text += fmt::format("\nwarning: {}\n", unknown.describe());
  return text + fmt::format("\n{}, {}\n", number_of(problems_in(survey), "problem"),
                            number_of(survey.unknown.size(), "warning"));
}

std::string settings_json(const SettingsSurvey& survey) {
  Json json = with_head();
  json["settings"] = Json::array();
  for (const SettingState& state : survey.states) {
    json["settings"].push_back({{"name", state.help.name},
                                {"value", state.value},
                                {"source", state.from_environment ? "environment" : "default"},
                                {"default", state.help.default_value},
                                {"allowed", state.help.allowed},
                                {"meaning", state.help.help},
                                {"problem", state.problem.message()}});
  }
  json["unknown"] = Json::array();
  for (const UnknownSetting& unknown : survey.unknown) {
    json["unknown"].push_back({{"name", unknown.name}, {"nearest", unknown.nearest}});
  }
  json["problems"] = problems_in(survey);
  json["warnings"] = survey.unknown.size();
  return dump(json);
}

size_t problems_in(const SettingsSurvey& survey) {
  const auto wrong = std::count_if(survey.states.begin(), survey.states.end(),
                                   [](const SettingState& state) { return !state.problem.ok(); });
  return static_cast<size_t>(wrong);
}

bool has_problem(const std::vector<Finding>& findings) { return count_of(findings, State::problem) > 0; }

}  // namespace ronde::doctor
