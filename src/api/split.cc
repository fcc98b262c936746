// Communicators of ronde.h: out of one that goes on beside them.
#include "runtime/split.h"

#include <fmt/format.h>

#include "api/calls.h"
#include "api/handles.h"
#include "api/making.h"

namespace ronde::api {
namespace {

// A rank without a colour has no communicator that could tell of it, and none that could own it.
Status start_without_result(rondeComm_t comm, rondeComm_t* new_comm, const CommunicatorOptions& options,
                            const Maker& maker) {
  auto& starts = comm->other_starts;
  std::erase_if(starts, [](const auto& start) { return start->status().code() != rondeInProgress; });
  RONDE_ASSIGN(auto start, StartUp::begin(process().start_ups(), make_with(options, maker)));
  starts.push_back(std::move(start));
  *new_comm = nullptr;
  return {};
}

Status split(const char* function, Purpose purpose, rondeComm_t comm, const SplitWish& wish, rondeComm_t* new_comm,
             const rondeConfig_t* config) {
  RONDE_TRY(not_null(new_comm, function, "newcomm"));
  Communicator& parent = *comm->communicator;
  RONDE_ASSIGN(const CommunicatorOptions options, options_of_child(parent, config, function));
  RONDE_TRY(parent.refusal());
  RONDE_ASSIGN(const std::shared_ptr<Turn> turn, take_turn(parent, config));
  const Maker maker = [&parent, turn, purpose, wish](CommunicatorOptions made, const RendezvousOptions& meeting,
                                                     Deadline) {
    return make_part(process(), parent, turn.get(), purpose, wish, std::move(made), meeting);
  };
  if (!wish.color && is_non_blocking(config)) return start_without_result(comm, new_comm, options, maker);
  return start(new_comm, config, &parent, options, maker);
}

Status split_by_color(rondeComm_t comm, int color, int key, rondeComm_t* new_comm, const rondeConfig_t* config) {
  RONDE_TRY(check_callable(comm, "rondeCommSplit"));
  SplitWish wish;
  wish.key = key;
  if (color != RONDE_SPLIT_NOCOLOR) wish.color = color;
  if (wish.color && color < 0)
    return {rondeInvalidArgument,
            fmt::format("rondeCommSplit: color is {}: 0 and above, or RONDE_SPLIT_NOCOLOR", color)};
  return split("rondeCommSplit", Purpose::split, comm, wish, new_comm, config);
}

Status duplicate(rondeComm_t comm, rondeComm_t* new_comm, const rondeConfig_t* config) {
  RONDE_TRY(check_callable(comm, "rondeCommDup"));
  return split("rondeCommDup", Purpose::dup, comm, {0, comm->communicator->rank()}, new_comm, config);
}

}  // namespace
}  // namespace ronde::api

using ronde::api::guarded;
using ronde::api::remembered_by_group;
using ronde::api::said_by;

rondeResult_t rondeCommSplit(rondeComm_t comm, int color, int key, rondeComm_t* newcomm, rondeConfig_t* config) {
  return guarded([&] {
    return remembered_by_group(
        said_by("rondeCommSplit", ronde::api::split_by_color(comm, color, key, newcomm, config)));
  });
}

rondeResult_t rondeCommDup(rondeComm_t comm, rondeComm_t* newcomm, rondeConfig_t* config) {
  return guarded(
      [&] { return remembered_by_group(said_by("rondeCommDup", ronde::api::duplicate(comm, newcomm, config))); });
}
