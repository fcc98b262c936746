// Communicators of ronde.h: making, asking, ending.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <set>

#include "api/calls.h"
#include "api/group.h"
#include "api/handles.h"
#include "api/options.h"
#include "base/crypto.h"
#include "base/secret.h"
#include "bootstrap/messages.h"
#include "bootstrap/rendezvous.h"
#include "runtime/make_communicator.h"

namespace ronde::api {
namespace {

constexpr size_t kNameBytes = 63;

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

// The ranks of a job have the same environment: one of them speaks for all, or ronderun, which has done so before.
void warn_once_a_job(int rank) {
  if (rank == 0 && !environment_variable("RONDE_ID_FD")) warn_about_unknown_settings();
}

Deadline deadline_of(const Settings& settings) {
  return Deadline::after(std::chrono::seconds(settings.init_timeout_s));
}

Result<std::unique_ptr<rondeComm>> as_handle(Result<std::unique_ptr<Communicator>> made) {
  if (!made.ok()) return made.status();
  auto handle = std::make_unique<rondeComm>();
  handle->communicator = std::move(*made);
  return handle;
}

bool is_non_blocking(const rondeConfig_t* config) {
  constexpr size_t kEnd = offsetof(rondeConfig_t, blocking) + sizeof config->blocking;
  return config != nullptr && config->size >= kEnd && config->blocking == 0;
}

// As the config wants it: at once, on a thread of its own (rondeInProgress, *comm is written), or at the end of the group.
// parent: what it is made from, or null.
using Maker =
    std::function<Result<std::unique_ptr<Communicator>>(CommunicatorOptions, const RendezvousOptions&, Deadline)>;
Status start(rondeComm_t* comm, const rondeConfig_t* config, const Communicator* parent,
             const CommunicatorOptions& options, const Maker& maker) {
  const auto make = [options, maker](const std::shared_ptr<FailureState>& stop) {
    CommunicatorOptions stoppable = options;
    stoppable.stop = stop;
    return maker(std::move(stoppable), rendezvous_options(options.settings), deadline_of(options.settings));
  };
  if (is_non_blocking(config)) {
    auto handle = std::make_unique<rondeComm>();
    RONDE_ASSIGN(handle->start, StartUp::begin(process().start_ups(), make));
    *comm = handle.release();
    return {rondeInProgress, "the communicator is not ready yet"};
  }
  const GroupInit init{[make] { return as_handle(make(std::make_shared<FailureState>())); }, comm, parent};
  if (!group_of_thread().open()) return make_together({init});
  group_of_thread().inits.push_back(init);
  return {};
}

Status init_rank(rondeComm_t* comm, int nranks, const rondeUniqueId& packed, int rank, const rondeConfig_t* config) {
  RONDE_TRY(check_not_forked("rondeCommInitRank"));
  RONDE_TRY(not_null(comm, "rondeCommInitRank", "comm"));
  RONDE_TRY(check_rank(nranks, rank));
  RONDE_ASSIGN(const UniqueId id, UniqueId::unpack(packed));
  RONDE_ASSIGN(const Settings settings, settings_with(config, "rondeCommInitRankConfig"));
  warn_once_a_job(rank);
  const CommunicatorOptions options = make_options(settings, config, nranks, rank);
  return start(comm, config, nullptr, options,
               [id](CommunicatorOptions made, const RendezvousOptions& meeting, Deadline deadline) {
                 return make_rank(process(), id, std::move(made), meeting, deadline);
               });
}

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
  RONDE_TRY(check_ready(comm, "rondeCommShrink"));
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
  CommunicatorOptions options = parent.options();
  if (config != nullptr) {
    RONDE_ASSIGN(const Settings settings, settings_with(config, "rondeCommShrink"));
    options = make_options(settings, config, 0, 0);
  }
  RONDE_ASSIGN(const Predecessor before, parent.begin_succession());
  if (flags == RONDE_SHRINK_ABORT) parent.revoke();
  RONDE_TRY(process().worker().wait_for(parent));
  return start(new_comm, config, &parent, options,
               [before, without](CommunicatorOptions made, const RendezvousOptions& meeting, Deadline deadline) {
                 return make_successor(process(), before, without, std::move(made), meeting, deadline);
               });
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
    const auto make = [&, rank] {
      CommunicatorOptions options = make_options(settings, nullptr, nranks, static_cast<int>(rank));
      options.job = job;
      options.secret = secret;
      return as_handle(make_rank(process(), options, std::move(rendezvous[rank]), deadline_of(settings)));
    };
    inits.push_back({make, comms + rank, nullptr});
  }
  return make_together(inits);
}

}  // namespace
}  // namespace ronde::api

using ronde::Status;
using ronde::api::check_comm;
using ronde::api::check_ready;
using ronde::api::guarded;
using ronde::api::not_null;

// The id is a copy, on the stack: it must not stay there.
rondeResult_t rondeCommInitRank(rondeComm_t* comm, int nranks, rondeUniqueId id, int rank) {
  const ronde::Wipe wipe(id.internal);
  return rondeCommInitRankConfig(comm, nranks, id, rank, nullptr);
}

rondeResult_t rondeCommInitRankConfig(rondeComm_t* comm, int nranks, rondeUniqueId id, int rank,
                                      rondeConfig_t* config) {
  const ronde::Wipe wipe(id.internal);
  return guarded(
      [&] { return ronde::api::remembered_by_group(ronde::api::init_rank(comm, nranks, id, rank, config)); });
}

rondeResult_t rondeCommShrink(rondeComm_t comm, const int* excludeRanksList, int excludeRanksCount,
                              rondeComm_t* newcomm, rondeConfig_t* config, int shrinkFlags) {
  return guarded([&] {
    return ronde::api::remembered_by_group(
        ronde::api::shrink(comm, excludeRanksList, excludeRanksCount, newcomm, config, shrinkFlags));
  });
}

rondeResult_t rondeCommInitAll(rondeComm_t* comms, int nranks, const int* devices) {
  return guarded([&] { return ronde::api::init_all(comms, nranks, devices); });
}

rondeResult_t rondeCommFinalize(rondeComm_t comm) {
  return guarded([&]() -> Status {
    RONDE_TRY(check_ready(comm, "rondeCommFinalize"));
    RONDE_TRY(ronde::api::check_not_in_group(*comm->communicator, "rondeCommFinalize"));
    RONDE_TRY(ronde::api::process().worker().wait_for(*comm->communicator));
    return comm->communicator->finalize();
  });
}

rondeResult_t rondeCommDestroy(rondeComm_t comm) {
  return guarded([&]() -> Status {
    if (comm == nullptr) return {};
    RONDE_TRY(check_comm(comm, "rondeCommDestroy"));
    if (comm->ready().ok()) {
      RONDE_TRY(ronde::api::check_not_in_group(*comm->communicator, "rondeCommDestroy"));
      RONDE_TRY(ronde::api::process().worker().wait_for(*comm->communicator));
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

rondeResult_t rondeCommGetAsyncError(rondeComm_t comm, rondeResult_t* async_error) {
  return guarded([&]() -> Status {
    RONDE_TRY(check_comm(comm, "rondeCommGetAsyncError"));
    RONDE_TRY(not_null(async_error, "rondeCommGetAsyncError", "async_error"));
    const Status ready = comm->ready();
    *async_error = ready.ok() ? comm->communicator->first_error().code() : ready.code();
    return {};
  });
}

rondeResult_t rondeCommGetFailedRanks(rondeComm_t comm, int* ranks, int capacity, int* number) {
  return guarded([&]() -> Status {
    RONDE_TRY(check_ready(comm, "rondeCommGetFailedRanks"));
    RONDE_TRY(not_null(number, "rondeCommGetFailedRanks", "number"));
    if (capacity < 0) return {rondeInvalidArgument, "rondeCommGetFailedRanks: capacity is negative"};
    if (capacity > 0) RONDE_TRY(not_null(ranks, "rondeCommGetFailedRanks", "ranks"));
    const std::set<uint32_t> lost = comm->communicator->lost_ranks();
    int filled = 0;
    for (const uint32_t rank : lost) {
      if (filled < capacity) ranks[filled++] = static_cast<int>(rank);
    }
    *number = static_cast<int>(lost.size());
    return {};
  });
}

rondeResult_t rondeCommCount(const rondeComm_t comm, int* count) {
  return guarded([&]() -> Status {
    RONDE_TRY(check_ready(comm, "rondeCommCount"));
    RONDE_TRY(not_null(count, "rondeCommCount", "count"));
    *count = comm->communicator->nranks();
    return {};
  });
}

rondeResult_t rondeCommUserRank(const rondeComm_t comm, int* rank) {
  return guarded([&]() -> Status {
    RONDE_TRY(check_ready(comm, "rondeCommUserRank"));
    RONDE_TRY(not_null(rank, "rondeCommUserRank", "rank"));
    *rank = comm->communicator->rank();
    return {};
  });
}

rondeResult_t rondeCommDevice(const rondeComm_t comm, int* device) {
  return guarded([&]() -> Status {
    RONDE_TRY(check_ready(comm, "rondeCommDevice"));
    RONDE_TRY(not_null(device, "rondeCommDevice", "device"));
    *device = RONDE_DEVICE_HOST;
    return {};
  });
}

rondeResult_t rondeCommGetTraffic(rondeComm_t comm, rondeTraffic_t* traffic, int capacity, int* number) {
  return guarded([&]() -> Status {
    RONDE_TRY(check_ready(comm, "rondeCommGetTraffic"));
    RONDE_TRY(not_null(number, "rondeCommGetTraffic", "number"));
    if (capacity < 0) return {rondeInvalidArgument, "rondeCommGetTraffic: capacity is negative"};
    for (int i = 0; traffic != nullptr && i < capacity; ++i) {
      if (traffic[i].size >= sizeof(rondeTraffic_t)) continue;
      return {rondeInvalidArgument, "rondeCommGetTraffic: set size = sizeof(rondeTraffic_t) in each entry first"};
    }
    const std::vector<ronde::TransportTraffic> all = comm->communicator->traffic();
    const int filled = std::min(capacity, static_cast<int>(all.size()));
    if (filled > 0) RONDE_TRY(not_null(traffic, "rondeCommGetTraffic", "traffic"));
    for (int i = 0; i < filled; ++i) {
      rondeTraffic_t& entry = traffic[i];
      const ronde::TransportTraffic& found = all[static_cast<size_t>(i)];
      std::memset(entry.transport, 0, sizeof entry.transport);
      found.transport.copy(entry.transport, sizeof entry.transport - 1);
      entry.sent_bytes = found.sent.payload;
      entry.received_bytes = found.received.payload;
      entry.sent_header_bytes = found.sent.heads;
      entry.received_header_bytes = found.received.heads;
    }
    *number = filled;
    return {};
  });
}
