// Communicators of ronde.h: of the ranks that are left.
#include <fmt/format.h>

#include <set>

#include "api/calls.h"
#include "api/group.h"
#include "api/handles.h"
#include "api/making.h"
#include "runtime/make_communicator.h"

namespace ronde::api {
namespace {

Status read_list(const Communicator& parent, const int* ranks, int count, std::set<uint32_t>& list) {
  if (count < 0) return {rondeInvalidArgument, fmt::format("rondeCommShrink: excludeRanksCount is {}", count)};
  if (count > 0) RONDE_TRY(not_null(ranks, "rondeCommShrink", "excludeRanksList"));
  for (int i = 0; i < count; ++i) {
    if (ranks[i] < 0 || ranks[i] >= parent.nranks())
      return {rondeInvalidArgument,
              fmt::format("rondeCommShrink: rank {} of the list is not one of 0 to {}", ranks[i], parent.nranks() - 1)};
    if (ranks[i] == parent.rank())
      return {rondeInvalidArgument, fmt::format("rondeCommShrink: rank {} excludes itself: only ranks that go on call "
                                                "this",
                                                ranks[i])};
    list.insert(static_cast<uint32_t>(ranks[i]));
  }
  return {};
}

Status shrink(rondeComm_t comm, const int* ranks, int count, rondeComm_t* new_comm, const rondeConfig_t* config,
              int flags) {
  RONDE_TRY(check_callable(comm, "rondeCommShrink"));
  RONDE_TRY(not_null(new_comm, "rondeCommShrink", "newcomm"));
  Communicator& parent = *comm->communicator;
  std::set<uint32_t> without;
  RONDE_TRY(read_list(parent, ranks, count, without));
  if (flags != RONDE_SHRINK_DEFAULT && flags != RONDE_SHRINK_ABORT)
    return {rondeInvalidArgument, fmt::format("rondeCommShrink: shrinkFlags are {}; RONDE_SHRINK_DEFAULT or "
                                              "RONDE_SHRINK_ABORT",
                                              flags)};
  RONDE_TRY(check_not_in_group(parent, "rondeCommShrink"));
  if (parent.finalized()) return {rondeInvalidUsage, "rondeCommShrink: the communicator was finalized"};
  RONDE_ASSIGN(const CommunicatorOptions options, options_of_child(parent, config, "rondeCommShrink"));
  RONDE_ASSIGN(const Predecessor before, parent.begin_succession());
  if (flags == RONDE_SHRINK_ABORT) parent.revoke();
  RONDE_TRY(process().worker().wait_for(parent));
  return start(new_comm, config, &parent, options,
               [before, without](CommunicatorOptions made, const RendezvousOptions& meeting, Deadline deadline) {
                 return make_successor(process(), before, without, std::move(made), meeting, deadline);
               });
}

}  // namespace
}  // namespace ronde::api

using ronde::api::guarded;

rondeResult_t rondeCommShrink(rondeComm_t comm, const int* excludeRanksList, int excludeRanksCount,
                              rondeComm_t* newcomm, rondeConfig_t* config, int shrinkFlags) {
  return guarded([&] {
    return ronde::api::remembered_by_group(ronde::api::said_by(
        "rondeCommShrink",
        ronde::api::shrink(comm, excludeRanksList, excludeRanksCount, newcomm, config, shrinkFlags)));
  });
}
