// ronde-doctor: finds out what is wrong with a machine, its network or its settings. See ronde-doctor --help.
#include <fmt/format.h>
#include <sys/utsname.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <exception>
#include <system_error>

#include "base/log.h"
#include "base/settings.h"
#include "doctor/checks.h"
#include "doctor/listen.h"
#include "doctor/options.h"
#include "doctor/reach.h"
#include "doctor/report.h"
#include "topology/cpus.h"

namespace {

using namespace ronde::doctor;
using ronde::SettingsSurvey;

constexpr ronde::Milliseconds kListenLimit{300'000};
constexpr ronde::Milliseconds kConnectLimit{5'000};

int show(const Options& options, const std::string& heading, const std::vector<Finding>& findings) {
  fmt::print("{}", options.json ? findings_json(findings) : findings_text(heading, findings));
  return has_problem(findings) ? 1 : 0;
}

int check(const Options& options, const SettingsSurvey& survey) {
  const int cpus = ronde::topology::usable_cpus(std::array{ronde::topology::CpuAllowance::of_this_process()});
  const int nranks = options.nranks.value_or(cpus);
  utsname system{};
  uname(&system);
  const std::string heading =
      fmt::format("ronde-doctor {}.{}.{} on {} (Linux {}), for {} rank{} on this machine", RONDE_MAJOR, RONDE_MINOR,
                  RONDE_PATCH, system.nodename, system.release, nranks, nranks == 1 ? "" : "s");
  return show(options, heading, check_machine(nranks, survey));
}

int show_settings(const Options& options, const SettingsSurvey& survey) {
  fmt::print("{}", options.json ? settings_json(survey) : settings_text(survey));
  return problems_in(survey) > 0 ? 1 : 0;
}

int wait_for_others(const Options& options, const SettingsSurvey& survey) {
  const ronde::Milliseconds limit = options.timeout.value_or(kListenLimit);
  const auto say = [](const std::string& line) {
    fmt::print("{}\n", line);
    std::fflush(stdout);
  };
  const auto visits = listen(survey.settings, options.listen_port, limit, say);
  if (!visits.ok()) {
    fmt::print(stderr, "ronde-doctor: {}\n", visits.status().message());
    return 1;
  }
  say(fmt::format("{} connection{} of ronde-doctor, {} of other programs", visits->reached,
                  visits->reached == 1 ? "" : "s", visits->strangers));
  if (visits->reached > 0) return 0;
  say("Nobody has reached this machine: see what ronde-doctor --connect says on the others");
  return 1;
}

int run(const std::vector<std::string>& arguments) {
  const auto parsed = parse_options(arguments);
  if (const auto* refusal = std::get_if<Refusal>(&parsed)) return ronde::tools::print(*refusal);
  const auto& options = std::get<Options>(parsed);
  ronde::log::set_level(rondeLogNone);  // findings say it all
  SettingsSurvey survey = ronde::survey_settings();
  if (options.mode == Mode::settings) {
    try_settings(survey);
    return show_settings(options, survey);
  }
  if (options.mode == Mode::check) return check(options, survey);
  // What a wrong setting does to the network must not be taken for a fault of the network.
  if (problems_in(survey) > 0) return show(options, "Mend the settings first:", check_settings(survey));
  if (options.mode == Mode::listen) return wait_for_others(options, survey);
  // One that is misspelt has no effect, which may be why it is tried here.
  std::vector<Finding> findings = survey.unknown.empty() ? std::vector<Finding>() : check_settings(survey);
  for (Finding& finding : reach(options.targets, survey.settings, options.timeout.value_or(kConnectLimit))) {
    findings.push_back(std::move(finding));
  }
  return show(options, "From this machine:", findings);
}

}  // namespace

int main(int argc, char** argv) try {
  const int exit_code = run(std::vector<std::string>(argv + 1, argv + argc));
  if (std::fflush(stdout) != 0) throw std::system_error(errno, std::generic_category(), "cannot write the output");
  return exit_code;
} catch (const std::exception& error) {
  std::fprintf(stderr, "ronde-doctor: %s\n", error.what());
  return 1;
}
