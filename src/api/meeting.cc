// Version, log, ids and the environment: the functions of ronde.h that need no communicator.
#include <cstring>

#include "api/handles.h"
#include "api/options.h"
#include "base/fork_guard.h"
#include "base/log.h"
#include "bootstrap/environment.h"
#include "bootstrap/unique_id.h"

using ronde::Status;
using ronde::api::guarded;
using ronde::api::not_null;
using ronde::api::process;

namespace {

Status get_unique_id(rondeUniqueId* id) {
  RONDE_TRY(ronde::api::check_not_forked("rondeGetUniqueId"));
  RONDE_TRY(not_null(id, "rondeGetUniqueId", "id"));
  RONDE_ASSIGN(const ronde::Settings settings, ronde::Settings::from_environment());
  ronde::RendezvousOptions options = ronde::api::rendezvous_options(settings);
  options.port = 0;  // RONDE_PORT is the job's first meeting point; the id tells where this one is
  RONDE_ASSIGN(const ronde::UniqueId made, ronde::start_root(process().loop(), options));
  made.pack_into(*id);
  return {};
}

Status get_world(rondeWorld_t* world, rondeUniqueId* id) {
  RONDE_TRY(ronde::api::check_not_forked("rondeGetWorldFromEnv"));
  RONDE_TRY(not_null(world, "rondeGetWorldFromEnv", "world"));
  RONDE_TRY(not_null(id, "rondeGetWorldFromEnv", "id"));
  if (world->size < sizeof(rondeWorld_t))
    return {rondeInvalidArgument, "rondeGetWorldFromEnv: set world->size = sizeof(rondeWorld_t) first"};
  RONDE_ASSIGN(const ronde::Settings settings, ronde::Settings::from_environment());
  RONDE_ASSIGN(const ronde::WorldAndId found,
               ronde::world_from_environment(process().loop(), ronde::api::rendezvous_options(settings)));
  world->nranks = found.world.nranks;
  world->rank = found.world.rank;
  world->localRank = found.world.local_rank;
  world->localNranks = found.world.local_nranks;
  found.id.pack_into(*id);
  return {};
}

}  // namespace

rondeResult_t rondeGetVersion(int* version) {
  return guarded([&]() -> Status {
    RONDE_TRY(not_null(version, "rondeGetVersion", "version"));
    *version = RONDE_VERSION_CODE;
    return {};
  });
}

const char* rondeGetErrorString(rondeResult_t result) {
  switch (result) {
    case rondeSuccess: return "success";
    case rondeUnhandledCudaError: return "a CUDA call failed";
    case rondeSystemError: return "the operating system refused something";
    case rondeInternalError: return "internal error";
    case rondeInvalidArgument: return "invalid argument";
    case rondeInvalidUsage: return "invalid usage";
    case rondeRemoteError: return "another rank failed";
    case rondeInProgress: return "in progress";
    case rondePeerLost: return "another rank has ended or left";
    case rondePeerUnreachable: return "another rank cannot be reached";
    case rondeMismatch: return "the ranks called different operations";
    case rondeAborted: return "the communicator was aborted";
    case rondeTimedOut: return "a deadline has passed";
    case rondeRevoked: return "the communicator was revoked";
    default: return "unknown result";
  }
}

const char* rondeGetLastError(rondeComm_t comm) {
  try {
    // In a forked child it is the refusal of the call before.
    if (comm == nullptr || ronde::fork_guard::in_forked_child()) return ronde::api::last_error_of_thread().c_str();
    if (!ronde::api::check_comm(comm, "rondeGetLastError").ok()) return "not a communicator";
    thread_local std::string text;
    const ronde::Status ready = comm->ready();
    const bool failed = !ready.ok() && ready.code() != rondeInProgress;
    text = ready.ok() ? comm->communicator->first_error().message() : failed ? ready.message() : "";
    // An error of one call alone is this thread's; one of the communicator is everybody's.
    return text.empty() ? ronde::api::last_error_of_thread().c_str() : text.c_str();
  } catch (...) {
    return "out of memory";
  }
}

rondeResult_t rondeSetLogLevel(rondeLogLevel_t level) {
  return guarded([&]() -> Status {
    RONDE_TRY(ronde::api::check_not_forked("rondeSetLogLevel"));
    if (level < rondeLogNone || level > rondeLogTrace) {
      return {rondeInvalidArgument, "rondeSetLogLevel: the level is not one of rondeLogLevel_t"};
    }
    ronde::log::set_level(level);
    return {};
  });
}

rondeResult_t rondeSetLogCallback(rondeLogCallback_t callback, void* user) {
  return guarded([&]() -> Status {
    RONDE_TRY(ronde::api::check_not_forked("rondeSetLogCallback"));
    ronde::log::set_callback(callback, user);
    return {};
  });
}

rondeResult_t rondeGetUniqueId(rondeUniqueId* id) {
  return guarded([&] { return ronde::api::said_by("rondeGetUniqueId", get_unique_id(id)); });
}

rondeResult_t rondeUniqueIdToText(const rondeUniqueId* id, char* text) {
  return guarded([&]() -> Status {
    RONDE_TRY(not_null(id, "rondeUniqueIdToText", "id"));
    RONDE_TRY(not_null(text, "rondeUniqueIdToText", "text"));
    std::string form = ronde::id_to_text(*id);
    const ronde::Wipe wipe(form);
    std::memcpy(text, form.c_str(), form.size() + 1);
    return {};
  });
}

rondeResult_t rondeUniqueIdFromText(const char* text, rondeUniqueId* id) {
  return guarded([&]() -> Status {
    RONDE_TRY(not_null(text, "rondeUniqueIdFromText", "text"));
    RONDE_TRY(not_null(id, "rondeUniqueIdFromText", "id"));
    return ronde::api::said_by("rondeUniqueIdFromText", ronde::id_from_text(text, *id));
  });
}

rondeResult_t rondeGetWorldFromEnv(rondeWorld_t* world, rondeUniqueId* id) {
  return guarded([&] { return ronde::api::said_by("rondeGetWorldFromEnv", get_world(world, id)); });
}
