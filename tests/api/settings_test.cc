#include "base/settings.h"

#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <cstdlib>
#include <fstream>
#include <sstream>

using ronde::Settings;
using ronde::Status;

namespace {

bool refused(const char* name, const std::string& value) {
  Settings settings;
  const Status status = settings.set(name, value);
  return status.code() == rondeInvalidUsage && status.message().find(name) != std::string::npos;
}

}  // namespace

TEST_CASE("numbers are whole, within their limits, and nothing else") {
  for (const char* value : {"12abc", "-1", "1e9", "", " 5", "5 ", "0x10", "99999999999999999999", "+3"}) {
    INFO(value);
    CHECK(refused("RONDE_INIT_TIMEOUT", value));
  }
  Settings settings;
  CHECK(settings.set("RONDE_INIT_TIMEOUT", "5").ok());
  CHECK(settings.init_timeout_s == 5);
}

TEST_CASE("choices are the known words") {
  CHECK(refused("RONDE_ALGO", "rings"));
  CHECK(refused("RONDE_ALGO", ""));
  CHECK(refused("RONDE_ALGO", std::string(4096, 'a')));
  CHECK(refused("RONDE_TRANSPORT", "shm,"));
  CHECK(refused("RONDE_TRANSPORT", "shm,auto"));
  CHECK(refused("RONDE_TRANSPORT", "rdma"));
  Settings settings;
  CHECK(settings.set("RONDE_TRANSPORT", "shm,tcp").ok());
  CHECK(settings.set("RONDE_ALGO", "Two_Shot").ok());
  CHECK(settings.algorithm == "two_shot");
}

TEST_CASE("a message shows the beginning of a long value only") {
  Settings settings;
  const Status status = settings.set("RONDE_ALGO", std::string(4096, 'a'));
  CHECK(status.message().size() < 300);
}

TEST_CASE("every setting has a default that it accepts, and a help text") {
  for (const auto& row : ronde::settings_help()) {
    INFO(row.name);
    Settings settings;
    CHECK_FALSE(row.help.empty());
    CHECK_FALSE(row.allowed.empty());
    if (!row.default_value.empty()) CHECK(settings.set(row.name, row.default_value).ok());
  }
}

TEST_CASE("a text without choices may not be endless, and the message says so") {
  Settings settings;
  const Status status = settings.set("RONDE_LOG_FILE", std::string(4096, 'a'));
  CHECK(status.code() == rondeInvalidUsage);
  CHECK_THAT(status.message(), Catch::Contains("4096 characters; allowed: at most 1024, a path"));
}

TEST_CASE("a survey of the environment shows all faults and keeps what is right") {
  setenv("RONDE_ALGO", "Ring", 1);
  setenv("RONDE_SPIN", "12abc", 1);
  setenv("RONDE_PORT", "-1", 1);
  setenv("RONDE_SOCKET_IFNAMES", "eth0", 1);
  const ronde::SettingsSurvey survey = ronde::survey_settings();
  CHECK(survey.settings.algorithm == "ring");
  CHECK(survey.settings.spin == "auto");
  REQUIRE(survey.states.size() == ronde::settings_help().size());
  for (const ronde::SettingState& state : survey.states) {
    INFO(state.help.name);
    const bool wrong = state.help.name == "RONDE_SPIN" || state.help.name == "RONDE_PORT";
    CHECK(state.problem.ok() != wrong);
    CHECK(state.from_environment == (wrong || state.help.name == "RONDE_ALGO"));
    if (!state.from_environment) CHECK(state.value == state.help.default_value);
    if (state.help.name == "RONDE_ALGO") CHECK(state.value == "ring");
    if (state.help.name == "RONDE_PORT") CHECK(state.value == "-1");
  }
  REQUIRE(survey.unknown.size() == 1);
  CHECK(survey.unknown[0].nearest == "RONDE_SOCKET_IFNAME");
  for (const char* name : {"RONDE_ALGO", "RONDE_SPIN", "RONDE_PORT", "RONDE_SOCKET_IFNAMES"}) unsetenv(name);
}

TEST_CASE("a setting that may have been meant is named, and no other") {
  const std::pair<const char*, std::string_view> names[] = {{"RONDE_ALGOO", "RONDE_ALGO"},
                                                            {"RONDE_LOGFILE", "RONDE_LOG_FILE"},
                                                            {"RONDE_TRNSPRT", "RONDE_TRANSPORT"},
                                                            {"RONDE_FOO", ""},
                                                            {"RONDE_", ""},
                                                            {"RONDE_COLOUR_OF_THE_LOG", ""}};
  for (const auto& [name, nearest] : names) {
    INFO(name);
    setenv(name, "1", 1);
    const ronde::SettingsSurvey survey = ronde::survey_settings();
    unsetenv(name);
    REQUIRE(survey.unknown.size() == 1);
    CHECK(survey.unknown[0].nearest == nearest);
    CHECK((survey.unknown[0].describe().find("nearest") == std::string::npos) == nearest.empty());
  }
}

TEST_CASE("what must agree between ranks is in one text") {
  Settings a;
  Settings b;
  CHECK(a.agreed_text() == b.agreed_text());
  CHECK(b.set("RONDE_ALGO", "ring").ok());
  CHECK(a.agreed_text() != b.agreed_text());
  Settings c;
  CHECK(c.set("RONDE_INIT_TIMEOUT", "7").ok());
  CHECK(a.agreed_text() == c.agreed_text());
}

TEST_CASE("the README lists every setting with its default and what is allowed, and no other") {
  std::ifstream file(README);
  std::stringstream text;
  text << file.rdbuf();
  const std::string readme = text.str();
  REQUIRE_FALSE(readme.empty());
  for (const ronde::SettingHelp& row : ronde::settings_help()) {
    const std::string beginning = row.default_value.empty()
                                      ? fmt::format("\n| {} | | {} | ", row.name, row.allowed)
                                      : fmt::format("\n| {} | {} | {} | ", row.name, row.default_value, row.allowed);
    INFO(beginning);
    CHECK(readme.find(beginning) != std::string::npos);
  }
  size_t rows = 0;
  for (size_t at = readme.find("\n| RONDE_"); at != std::string::npos; at = readme.find("\n| RONDE_", at + 1)) ++rows;
  CHECK(rows == ronde::settings_help().size());
}
