// Communicators of ronde.h: made from an id or in one process, and ended.
#include <fmt/format.h>

#include "api/calls.h"
#include "api/group.h"
#include "api/handles.h"
#include "api/making.h"
#include "api/options.h"
#include "base/crypto.h"
#include "base/secret.h"
#include "bootstrap/rendezvous.h"
#include "runtime/make_communicator.h"

namespace ronde::api {
namespace {

Status init_rank(const char* function, rondeComm_t* comm, int nranks, const rondeUniqueId& packed, int rank,
                 const rondeConfig_t* config) {
  RONDE_TRY(check_not_forked(function));
  RONDE_TRY(not_null(comm, function, "comm"));
  RONDE_TRY(check_rank(nranks, rank));
  RONDE_ASSIGN(const UniqueId id, UniqueId::unpack(packed));
  RONDE_ASSIGN(const Settings settings, settings_with(config, function));
  warn_once_a_job(rank);
  const CommunicatorOptions options = make_options(settings, config, nranks, rank);
  return start(comm, config, nullptr, options,
               [id](CommunicatorOptions made, const RendezvousOptions& meeting, Deadline deadline) {
                 return make_rank(process(), id, std::move(made), meeting, deadline);
               });
}

Status init_rank_scalable(const char* function, rondeComm_t* comm, int nranks, int rank, int nids,
                          const rondeUniqueId* ids, const rondeConfig_t* config) {
  RONDE_TRY(not_null(ids, function, "ids"));
  if (nids < 1 || nids > nranks)
    return {rondeInvalidArgument, fmt::format("{}: nids is {}: 1 to nranks ({}) are allowed", function, nids, nranks)};
  for (int i = 0; i < nids; ++i) {
    const Status read = UniqueId::unpack(ids[i]).status();
    if (!read.ok()) return {read.code(), fmt::format("{}: ids[{}] is {}", function, i, read.message())};
  }
  return init_rank(function, comm, nranks, ids[0], rank, config);
}

// All ranks of one process: no id, no sockets. One thread for each, as every one waits for the others.
Status init_all(rondeComm_t* comms, int nranks, const int* devices) {
  RONDE_TRY(check_not_forked("rondeCommInitAll"));
  RONDE_TRY(not_null(comms, "rondeCommInitAll", "comms"));
  RONDE_TRY(check_rank(nranks, 0));
  for (int i = 0; devices != nullptr && i < nranks; ++i) {
    if (devices[i] == RONDE_DEVICE_HOST) continue;
    return {rondeInvalidArgument, fmt::format("rondeCommInitAll: device {} of rank {}: this build has host memory only "
                                              "(RONDE_DEVICE_HOST)",
                                              devices[i], i)};
  }
  RONDE_ASSIGN(const Settings settings, Settings::from_environment());
  warn_once_a_job(0);
  RONDE_ASSIGN(const uint64_t job, random_number<uint64_t>());
  RONDE_ASSIGN(const Secret secret, Secret::random());
  auto rendezvous = local_rendezvous(nranks);
  std::vector<GroupInit> inits;
  for (size_t rank = 0; rank < rendezvous.size(); ++rank) {
    const auto make = [&, rank](const std::shared_ptr<FailureState>& stop) {
      CommunicatorOptions options = make_options(settings, nullptr, nranks, static_cast<int>(rank));
      options.job = job;
      options.secret = secret;
      options.stop = stop;
      return as_handle(make_rank(process(), options, std::move(rendezvous[rank]), deadline_of(settings)));
    };
    inits.push_back({make, comms + rank, nullptr});
  }
  return make_together(inits);
}

template <typename Make>
rondeResult_t making(const char* function, const Make& make) {
  return guarded([&] { return remembered_by_group(said_by(function, make(function))); });
}

}  // namespace
}  // namespace ronde::api

using ronde::Status;
using ronde::api::check_comm;
using ronde::api::check_ready;
using ronde::api::guarded;
using ronde::api::making;
using ronde::api::process;
using ronde::api::said_by;

// The id is a copy, on the stack: it must not stay there.
rondeResult_t rondeCommInitRank(rondeComm_t* comm, int nranks, rondeUniqueId id, int rank) {
  const ronde::Wipe wipe(id.internal);
  return making("rondeCommInitRank",
                [&](const char* function) { return ronde::api::init_rank(function, comm, nranks, id, rank, nullptr); });
}

rondeResult_t rondeCommInitRankConfig(rondeComm_t* comm, int nranks, rondeUniqueId id, int rank,
                                      rondeConfig_t* config) {
  const ronde::Wipe wipe(id.internal);
  return making("rondeCommInitRankConfig",
                [&](const char* function) { return ronde::api::init_rank(function, comm, nranks, id, rank, config); });
}

rondeResult_t rondeCommInitRankScalable(rondeComm_t* newcomm, int nranks, int myrank, int nids, rondeUniqueId* ids,
                                        rondeConfig_t* config) {
  return making("rondeCommInitRankScalable", [&](const char* function) {
    return ronde::api::init_rank_scalable(function, newcomm, nranks, myrank, nids, ids, config);
  });
}

rondeResult_t rondeCommInitAll(rondeComm_t* comms, int nranks, const int* devices) {
  return guarded([&] { return said_by("rondeCommInitAll", ronde::api::init_all(comms, nranks, devices)); });
}

rondeResult_t rondeCommFinalize(rondeComm_t comm) {
  return guarded([&]() -> Status {
    RONDE_TRY(check_ready(comm, "rondeCommFinalize"));
    RONDE_TRY(ronde::api::check_not_in_group(*comm->communicator, "rondeCommFinalize"));
    RONDE_TRY(said_by("rondeCommFinalize", process().worker().wait_for(*comm->communicator)));
    return comm->communicator->finalize();
  });
}

rondeResult_t rondeCommDestroy(rondeComm_t comm) {
  return guarded([&]() -> Status {
    if (comm == nullptr) return {};
    RONDE_TRY(check_comm(comm, "rondeCommDestroy"));
    if (comm->ready().ok()) {
      RONDE_TRY(ronde::api::check_not_in_group(*comm->communicator, "rondeCommDestroy"));
      RONDE_TRY(said_by("rondeCommDestroy", process().worker().wait_for(*comm->communicator)));
    }
    delete comm;
    return {};
  });
}

rondeResult_t rondeCommAbort(rondeComm_t comm) {
  return guarded([&]() -> Status {
    RONDE_TRY(check_comm(comm, "rondeCommAbort"));
    const Status why(rondeAborted, "the start of the communicator was aborted on this rank");
    if (!comm->ready().ok()) comm->start->abort(why);
    // It may have become ready at this moment: then that had no effect.
    if (comm->ready().ok()) comm->communicator->abort();
    return {};
  });
}

rondeResult_t rondeCommRevoke(rondeComm_t comm, int flags) {
  return guarded([&]() -> Status {
    RONDE_TRY(check_ready(comm, "rondeCommRevoke"));
    if (flags != RONDE_REVOKE_DEFAULT)
      return {rondeInvalidArgument, fmt::format("rondeCommRevoke: flags are {}; only RONDE_REVOKE_DEFAULT", flags)};
    if (comm->communicator->finalized())
      return {rondeInvalidUsage,
              "rondeCommRevoke: the communicator was finalized: none of its operations is left to end"};
    comm->communicator->revoke();
    return {};
  });
}
