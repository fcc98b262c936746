#include "api/making.h"

#include <fmt/format.h>

#include <cstddef>
#include <cstring>

#include "api/group.h"
#include "api/options.h"
#include "bootstrap/messages.h"

namespace ronde::api {
namespace {

constexpr size_t kNameBytes = 63;

}  // namespace

Status check_rank(int nranks, int rank) {
  if (nranks < 1 || nranks > static_cast<int>(kMostRanks)) {
    return {rondeInvalidArgument, fmt::format("nranks is {}: 1 to {} are allowed", nranks, kMostRanks)};
  }
  if (rank >= 0 && rank < nranks) return {};
  return {rondeInvalidArgument, fmt::format("rank {} is not one of 0 to {}", rank, nranks - 1)};
}

CommunicatorOptions make_options(const Settings& settings, const rondeConfig_t* config, int nranks, int rank) {
  CommunicatorOptions options;
  options.nranks = nranks;
  options.rank = rank;
  options.settings = settings;
  const size_t name_end = offsetof(rondeConfig_t, commName) + sizeof config->commName;
  if (config != nullptr && config->size >= name_end && config->commName != nullptr) {
    options.name.assign(config->commName, strnlen(config->commName, kNameBytes));
  }
  return options;
}

Result<CommunicatorOptions> options_of_child(const Communicator& parent, const rondeConfig_t* config,
                                             const char* function) {
  if (config == nullptr) return parent.options();
  RONDE_ASSIGN(const Settings settings, settings_with(config, function));
  return make_options(settings, config, 0, 0);
}

void warn_once_a_job(int rank) {
  if (rank == 0 && !environment_variable("RONDE_ID_FD")) warn_about_unknown_settings();
}

Deadline deadline_of(const Settings& settings) {
  return Deadline::after(std::chrono::seconds(settings.init_timeout_s));
}

Result<std::unique_ptr<rondeComm>> as_handle(Result<std::unique_ptr<Communicator>> made) {
  if (!made.ok()) return made.status();
  if (*made == nullptr) return std::unique_ptr<rondeComm>();  // this rank gets none
  auto handle = std::make_unique<rondeComm>();
  handle->communicator = std::move(*made);
  return handle;
}

bool is_non_blocking(const rondeConfig_t* config) {
  constexpr size_t kEnd = offsetof(rondeConfig_t, blocking) + sizeof config->blocking;
  return config != nullptr && config->size >= kEnd && config->blocking == 0;
}

StartUp::Make make_with(const CommunicatorOptions& options, const Maker& maker) {
  return [options, maker](const std::shared_ptr<FailureState>& stop) {
    CommunicatorOptions stoppable = options;
    stoppable.stop = stop;
    return maker(std::move(stoppable), rendezvous_options(options.settings), deadline_of(options.settings));
  };
}

Result<std::shared_ptr<Turn>> take_turn(Communicator& parent, const rondeConfig_t* config) {
  if (is_non_blocking(config)) return Turn::take(process().worker(), parent);
  RONDE_TRY(process().worker().check_may_wait());
  if (group_of_thread().open()) return Turn::take(process().worker(), parent);
  RONDE_TRY(process().worker().wait_for(parent));
  return std::shared_ptr<Turn>();
}

Status start(rondeComm_t* comm, const rondeConfig_t* config, const Communicator* parent,
             const CommunicatorOptions& options, const Maker& maker) {
  const StartUp::Make make = make_with(options, maker);
  if (is_non_blocking(config)) {
    auto handle = std::make_unique<rondeComm>();
    RONDE_ASSIGN(handle->start, StartUp::begin(process().start_ups(), make));
    *comm = handle.release();
    return {rondeInProgress, "the communicator is not ready yet"};
  }
  const GroupInit init{[make](const auto& stop) { return as_handle(make(stop)); }, comm, parent};
  if (!group_of_thread().open()) return make_together({init});
  group_of_thread().inits.push_back(init);
  return {};
}

}  // namespace ronde::api
