#include "base/settings.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <climits>
#include <cstdlib>
#include <limits>
#include <variant>

#include "base/log.h"

extern char** environ;  // NOLINT(readability-redundant-declaration): not declared without _GNU_SOURCE

namespace ronde {
namespace {

using Member = std::variant<std::string Settings::*, int64_t Settings::*>;

struct Row {
  SettingHelp help;
  Member member;
  std::string_view choices;  // text: comma-separated; empty: any text. A leading '*' allows a list of them.
  int64_t low = 0;           // number: least and greatest value
  int64_t high = 0;
  bool agreed = false;  // must be equal on all ranks
};

constexpr std::string_view kPrefix = "RONDE_";
constexpr int64_t kDay = 86'400;

const std::array kTable = {
    Row{{"RONDE_ALGO", "auto", "auto, ring, two_shot, one_shot, star",
         "Algorithm of every collective; for up to 56 bytes auto and one_shot use `line`."},
        &Settings::algorithm,
        "auto,ring,two_shot,one_shot,star",
        0,
        0,
        true},
    Row{{"RONDE_PROTO", "auto", "auto, simple", "Protocol of links: slots with counters."},
        &Settings::protocol,
        "auto,simple",
        0,
        0,
        true},
    Row{{"RONDE_TRANSPORT", "auto", "auto, or a list of inproc, shm, tcp",
         "Transports that may be used: inproc between ranks of a process, shm in a node, tcp everywhere."},
        &Settings::transport,
        "*auto,inproc,shm,tcp",
        0,
        0,
        true},
    Row{{"RONDE_ACCUMULATE", "auto", "auto, float32",
         "float32: partial sums of 8- and 16-bit floats travel as float32 and are rounded once."},
        &Settings::accumulate,
        "auto,float32",
        0,
        0,
        true},
    Row{{"RONDE_REPRODUCIBLE", "0", "0, 1",
         "1: reductions combine inputs in the order of ranks, with the same bits for any size, grouping, transport and "
         "placement of ranks."},
        &Settings::reproducible,
        "",
        0,
        1,
        true},
    Row{{"RONDE_SOCKET_IFNAME", "", "names or prefixes, comma-separated; ^ excludes, = means exact names",
         "Network interfaces to listen on and to tell others."},
        &Settings::socket_ifname,
        ""},
    Row{{"RONDE_SOCKET_FAMILY", "any", "any, ipv4, ipv6", "Address family."},
        &Settings::socket_family,
        "any,ipv4,ipv6"},
    Row{{"RONDE_PORT", "0", "0 to 65535", "Port of the meeting point; 0: any free one, or MASTER_PORT + 1."},
        &Settings::port,
        "",
        0,
        65535},
    Row{{"RONDE_SECRET_FILE", "",
         "a file of mode 0600 with at least 32 bytes, of the user of the process or of root, the same on all hosts",
         "What the ranks of several hosts prove to each other when no launcher hands over an id."},
        &Settings::secret_file,
        ""},
    Row{{"RONDE_TCP_CONNECTIONS", "1", "1 to 16", "TCP connections of each link between two hosts."},
        &Settings::tcp_connections,
        "",
        1,
        16,
        true},
    Row{{"RONDE_INIT_TIMEOUT", "300", "1 to 86400", "Seconds that start-up may take, and each connection made later."},
        &Settings::init_timeout_s,
        "",
        1,
        kDay},
    Row{{"RONDE_LATE_WARNING", "10", "0 to 86400; 0: never", "Seconds after which a wait is reported."},
        &Settings::late_warning_s,
        "",
        0,
        kDay},
    Row{{"RONDE_LATE_TIMEOUT", "600", "0 to 86400; 0: never", "Seconds after which a wait becomes an error."},
        &Settings::late_timeout_s,
        "",
        0,
        kDay},
    Row{{"RONDE_SILENT_TIMEOUT", "10", "5 to 600",
         "Seconds without any sign of another rank's host after which it counts as unreachable."},
        &Settings::silent_timeout_s,
        "",
        5,
        600},
    Row{{"RONDE_SHM_LIMIT", "67108864", "0 to 1099511627776, a plain number of bytes",
         "Bytes of shared memory that a process may use; ranks beyond it use tcp."},
        &Settings::shm_limit_bytes,
        "",
        0,
        int64_t{1} << 40},
    Row{{"RONDE_MEM_LIMIT", "274877906944", "0 to 70368744177664, a plain number of bytes",
         "Bytes of rondeMemAlloc that a process lets the ranks of its node read, at most the memory of the machine; "
         "what is "
         "beyond is ordinary memory. 0: all of it, as for programs that call mlockall(MCL_CURRENT) later, which makes "
         "all pages."},
        &Settings::mem_limit_bytes,
        "",
        0,
        int64_t{1} << 46},
    Row{{"RONDE_SPIN", "auto", "auto, on, off",
         "Whether a waiting rank spins before it sleeps. auto: if the ranks of the node fit its usable CPUs."},
        &Settings::spin,
        "auto,on,off"},
    Row{{"RONDE_DEBUG", "warn", "none, warn, info, trace", "Level of messages."},
        &Settings::debug,
        "none,warn,info,trace"},
    Row{{"RONDE_LOG_FILE", "", "a path; %p becomes the process number", "File for messages, instead of stderr."},
        &Settings::log_file,
        ""},
    Row{{"RONDE_TRACE_DIR", "", "a folder that this process may write to",
         "Folder in which each process leaves what its ranks did last, for ronde-status FILE; empty: no files."},
        &Settings::trace_dir,
        ""},
};

// What launchers and programs tell; known, but no settings.
constexpr std::array<std::string_view, 7> kLauncherNames = {"RONDE_RANK",         "RONDE_NRANKS", "RONDE_LOCAL_RANK",
                                                            "RONDE_LOCAL_NRANKS", "RONDE_ID_FD",  "RONDE_BLACK_BOX_FD",
                                                            "RONDE_PERF_FLIP"};

constexpr size_t kLongestValue = 1024;

const Row* find_row(std::string_view name) {
  const auto* row = std::find_if(kTable.begin(), kTable.end(), [&](const Row& r) { return r.help.name == name; });
  return row == kTable.end() ? nullptr : row;
}

Status refuse(const Row& row, std::string_view value) {
  const std::string shown(value.substr(0, 60));
  return {rondeInvalidUsage, fmt::format("{}='{}{}' is not allowed; allowed: {}", row.help.name, shown,
                                         value.size() > 60 ? "..." : "", row.help.allowed)};
}

// Splits at commas; empty parts stay.
std::vector<std::string_view> split(std::string_view list) {
  std::vector<std::string_view> parts;
  for (size_t begin = 0; begin <= list.size();) {
    const size_t comma = std::min(list.find(',', begin), list.size());
    parts.push_back(list.substr(begin, comma - begin));
    begin = comma + 1;
  }
  return parts;
}

std::string lower_case(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return lower;
}

Status set_text(const Row& row, std::string Settings::*member, std::string_view value, Settings& settings) {
  if (value.size() > kLongestValue) {
    return {rondeInvalidUsage, fmt::format("{}='{}...' has {} characters; allowed: at most {}, {}", row.help.name,
                                           value.substr(0, 60), value.size(), kLongestValue, row.help.allowed)};
  }
  if (!row.choices.empty()) {
    const bool list = row.choices.front() == '*';
    const std::string_view choices = row.choices.substr(list ? 1 : 0);
    const std::string lower = lower_case(value);  // INFO and Ring are what they look like
    const auto parts = list ? split(lower) : std::vector<std::string_view>{lower};
    for (const std::string_view part : parts) {
      if (part.empty() || !list_contains(choices, part)) return refuse(row, value);
    }
    if (parts.size() > 1 && list_contains(lower, "auto")) return refuse(row, value);
    settings.*member = lower;
    return {};
  }
  settings.*member = std::string(value);
  return {};
}

Status set_number(const Row& row, int64_t Settings::*member, std::string_view value, Settings& settings) {
  const std::string text(value);
  const bool digits_only = !text.empty() && text.find_first_not_of("0123456789") == std::string::npos;
  errno = 0;
  const long long number = digits_only ? std::strtoll(text.c_str(), nullptr, 10) : 0;
  if (!digits_only || errno == ERANGE || number < row.low || number > row.high) return refuse(row, value);
  settings.*member = number;
  return {};
}

// Levenshtein distance, for the hint on a misspelt name.
size_t distance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t replaced = diagonal + (a[i - 1] != b[j - 1]);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, replaced});
    }
  }
  return row[b.size()];
}

// The setting that `name` may be a misspelling of: at most a third of what stands behind the prefix is wrong.
std::string_view nearest_setting(std::string_view name) {
  const size_t most = std::max<size_t>(1, (name.size() - kPrefix.size()) / 3);
  const auto* nearest = std::min_element(kTable.begin(), kTable.end(), [&](const Row& a, const Row& b) {
    return distance(name, a.help.name) < distance(name, b.help.name);
  });
  return distance(name, nearest->help.name) <= most ? nearest->help.name : std::string_view();
}

std::vector<UnknownSetting> unknown_settings() {
  std::vector<UnknownSetting> unknown;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view text(*entry);
    const std::string_view name = text.substr(0, text.find('='));
    if (!name.starts_with(kPrefix) || find_row(name) != nullptr) continue;
    if (std::find(kLauncherNames.begin(), kLauncherNames.end(), name) != kLauncherNames.end()) continue;
    unknown.push_back({std::string(name), nearest_setting(name)});
  }
  return unknown;
}

std::string value_text(const Row& row, const Settings& settings) {
  if (const auto* text = std::get_if<std::string Settings::*>(&row.member)) return settings.**text;
  return std::to_string(settings.*std::get<int64_t Settings::*>(row.member));
}

rondeLogLevel_t level_of(std::string_view debug) {
  if (debug == "none") return rondeLogNone;
  if (debug == "info") return rondeLogInfo;
  if (debug == "trace") return rondeLogTrace;
  return rondeLogWarn;
}

Status apply_log_settings(const Settings& settings) {
  if (environment_variable("RONDE_DEBUG")) log::set_default_level(level_of(settings.debug));
  static std::atomic<bool> file_is_open{false};  // opened once a process
  if (settings.log_file.empty() || file_is_open) return {};
  RONDE_TRY(log::set_file(settings.log_file));
  file_is_open = true;
  return {};
}

Status check_trace_dir(const std::string& path) {
  struct stat about {};
  int error = ::access(path.c_str(), W_OK | X_OK) == 0 && ::stat(path.c_str(), &about) == 0 ? 0 : errno;
  if (error == 0 && !S_ISDIR(about.st_mode)) error = ENOTDIR;
  if (error == 0) return {};
  return {rondeInvalidUsage, fmt::format("RONDE_TRACE_DIR='{}' cannot be used{}; allowed: {}", path,
                                         system_error("", error).message(), find_row("RONDE_TRACE_DIR")->help.allowed)};
}

}  // namespace

Result<Settings> Settings::from_environment() {
  Settings settings;
  for (const Row& row : kTable) {
    const auto value = environment_variable(row.help.name.data());
    if (value) RONDE_TRY(settings.set(row.help.name, *value));
  }
  RONDE_TRY(apply_log_settings(settings));
  if (!settings.trace_dir.empty()) RONDE_TRY(check_trace_dir(settings.trace_dir));
  return settings;
}

Status Settings::set(std::string_view name, std::string_view value) {
  const Row* row = find_row(name);
  if (row == nullptr) return {rondeInvalidUsage, fmt::format("'{}' is not a setting", name)};
  if (const auto* text = std::get_if<std::string Settings::*>(&row->member)) {
    return set_text(*row, *text, value, *this);
  }
  return set_number(*row, std::get<int64_t Settings::*>(row->member), value, *this);
}

std::string Settings::agreed_text() const {
  std::string lines;
  for (const Row& row : kTable) {
    if (row.agreed) lines += fmt::format("{}={}\n", row.help.name, value_text(row, *this));
  }
  return lines;
}

std::span<const SettingHelp> settings_help() {
  static const auto helps = [] {
    std::array<SettingHelp, kTable.size()> result;
    std::transform(kTable.begin(), kTable.end(), result.begin(), [](const Row& row) { return row.help; });
    return result;
  }();
  return helps;
}

SettingsSurvey survey_settings() {
  SettingsSurvey survey;
  for (const Row& row : kTable) {
    SettingState state{row.help, value_text(row, survey.settings), false, {}};
    if (const auto given = environment_variable(row.help.name.data())) {
      state.from_environment = true;
      state.problem = survey.settings.set(row.help.name, *given);
      if (row.help.name == "RONDE_TRACE_DIR" && !given->empty()) state.problem = check_trace_dir(*given);
      state.value = state.problem.ok() ? value_text(row, survey.settings) : *given;
    }
    survey.states.push_back(std::move(state));
  }
  survey.unknown = unknown_settings();
  return survey;
}

std::string UnknownSetting::describe() const {
  const std::string hint = nearest.empty() ? "" : fmt::format("; the nearest one is {}", nearest);
  return fmt::format("{} is not a setting of this version and has no effect{}", name, hint);
}

void warn_about_unknown_settings() {
  static std::atomic_flag done = ATOMIC_FLAG_INIT;
  if (done.test_and_set()) return;
  for (const UnknownSetting& unknown : unknown_settings()) log::warn("{}", unknown.describe());
}

std::optional<std::string> environment_variable(const char* name) {
  const char* value = std::getenv(name);
  if (value == nullptr) return std::nullopt;
  return std::string(value);
}

bool list_contains(std::string_view list, std::string_view item) {
  const auto parts = split(list);
  return std::find(parts.begin(), parts.end(), item) != parts.end();
}

}  // namespace ronde
