// What the start of a communicator needs of this machine, looked at with the library's own code. Nothing is left
// behind; no check waits longer than a few seconds.
#pragma once

#include <vector>

#include "base/settings.h"
#include "doctor/finding.h"

namespace ronde::doctor {

// All checks, in the order in which they are to be read. nranks: ranks on this machine.
std::vector<Finding> check_machine(int nranks, const SettingsSurvey& survey);

// The parts.
std::vector<Finding> check_settings(const SettingsSurvey& survey);
Finding check_launcher();
Finding check_cpus(int nranks);
Finding check_memory(int nranks);
Finding check_open_files(int nranks);
Finding check_shared_memory(int nranks, const Settings& settings);
Finding check_wakeups();
std::vector<Finding> check_network(const Settings& settings);
// Where the settings name a port, a secret file, a log file.
std::vector<Finding> check_named_places(const Settings& settings);
// Adds to the survey what only the start of a communicator finds out about values that are allowed as such: interfaces
// that are not there, files that cannot be opened.
void try_settings(SettingsSurvey& survey);

// Bytes that processes started here may still use: of the machine, or of the control group if that is less. 0: unknown.
size_t available_memory();
// "python3 (process 123)" listens on the port; empty if that cannot be seen.
std::string owner_of_port(uint16_t port);

}  // namespace ronde::doctor
