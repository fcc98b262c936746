#include "common/environment.h"

#include <fmt/format.h>

#include <cctype>
#include <cstdlib>
#include <string_view>

extern char** environ;  // NOLINT(readability-redundant-declaration): not declared without _GNU_SOURCE

namespace perf {

std::optional<Flip> flip_from_environment(std::string* error) {
  const char* text = std::getenv(kFlipVariable);
  if (text == nullptr) return std::nullopt;
  unsigned long long numbers[3] = {};
  const char* at = text;
  for (int i = 0; i < 3; ++i) {
    char* end = nullptr;
    if (std::isdigit(static_cast<unsigned char>(*at)) != 0) numbers[i] = std::strtoull(at, &end, 10);
    if (end == nullptr || *end != (i < 2 ? ':' : '\0')) {
      *error = fmt::format("{}=\"{}\" is not rank:size:index, three numbers", kFlipVariable, text);
      return std::nullopt;
    }
    at = end + 1;
  }
  return Flip{static_cast<int>(numbers[0]), numbers[1], numbers[2]};
}

Place place_from_launcher() {
  // In the order in which the library looks at them.
  struct Launcher {
    const char* sign;
    const char* rank;
    const char* rank_on_host;
  };
  constexpr Launcher kLaunchers[] = {
      {"RONDE_RANK", "RONDE_RANK", "RONDE_LOCAL_RANK"},
      {"TORCHELASTIC_RUN_ID", "RANK", "LOCAL_RANK"},
      {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_LOCAL_RANK"},
      {"PMI_RANK", "PMI_RANK", "MPI_LOCALRANKID"},
      {"SLURM_STEP_ID", "SLURM_PROCID", "SLURM_LOCALID"},
      {"WORLD_SIZE", "RANK", "LOCAL_RANK"},
  };
  const auto number = [](const char* name) {
    const char* value = std::getenv(name);
    return value != nullptr ? std::atoi(value) : 0;
  };
  for (const Launcher& launcher : kLaunchers) {
    if (std::getenv(launcher.sign) != nullptr) return {number(launcher.rank), number(launcher.rank_on_host)};
  }
  return {};
}

std::string launcher_with_several_processes() {
  for (const char* name : {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_NTASKS", "WORLD_SIZE"}) {
    const char* value = std::getenv(name);
    if (value != nullptr && std::atoi(value) > 1) return fmt::format("{}={}", name, value);
  }
  return {};
}

std::map<std::string, std::string> library_settings() {
  std::map<std::string, std::string> settings;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view text(*entry);
    const size_t equals = text.find('=');
    if (!text.starts_with("RONDE_") || equals == std::string_view::npos) continue;
    settings.emplace(text.substr(0, equals), text.substr(equals + 1));
  }
  return settings;
}

}  // namespace perf
