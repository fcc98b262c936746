// Findings and settings as text for people and as JSON for programs. Prints nothing.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/settings.h"
#include "doctor/finding.h"

namespace ronde::doctor {

// One line for each finding, its remedy below it, and a last line with the sum. heading: the first line.
std::string findings_text(std::string_view heading, const std::vector<Finding>& findings);
std::string findings_json(const std::vector<Finding>& findings);

std::string settings_text(const SettingsSurvey& survey);
std::string settings_json(const SettingsSurvey& survey);

// How many settings have values that the library refuses. (Names that it does not know are warnings.)
size_t problems_in(const SettingsSurvey& survey);
// True if one of the findings is a problem; warnings are none.
bool has_problem(const std::vector<Finding>& findings);

}  // namespace ronde::doctor
