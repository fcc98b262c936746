// How every function that makes a communicator makes it: at once, on a thread of its own, or at the end of the group.
#pragma once

#include <functional>
#include <memory>

#include "api/handles.h"
#include "bootstrap/rendezvous.h"

namespace ronde::api {

// rondeInvalidArgument: no such number of ranks, or the rank is none of them.
Status check_rank(int nranks, int rank);

// Settings, and the name that the config (may be null) gives.
CommunicatorOptions make_options(const Settings& settings, const rondeConfig_t* config, int nranks, int rank);
// Of a communicator that is made from another one: without a config those of the parent.
Result<CommunicatorOptions> options_of_child(const Communicator& parent, const rondeConfig_t* config,
                                             const char* function);

// The ranks of a job have the same environment: one of them speaks for all, or ronderun, which has done so before.
void warn_once_a_job(int rank);

[[nodiscard]] Deadline deadline_of(const Settings& settings);

Result<std::unique_ptr<rondeComm>> as_handle(Result<std::unique_ptr<Communicator>> made);

[[nodiscard]] bool is_non_blocking(const rondeConfig_t* config);

// Blocks until the communicator is made. options: with a stop.
using Maker =
    std::function<Result<std::unique_ptr<Communicator>>(CommunicatorOptions, const RendezvousOptions&, Deadline)>;
// With the settings of the options.
[[nodiscard]] StartUp::Make make_with(const CommunicatorOptions& options, const Maker& maker);
// The place of a call that makes a communicator out of another one among the operations of that one. Null: it is made
// at once, when all of them have ended.
Result<std::shared_ptr<Turn>> take_turn(Communicator& parent, const rondeConfig_t* config);

// As the config wants it: at once, on a thread of its own (rondeInProgress, *comm is written), or at the end of the
// group. parent: what it is made from, or null.
Status start(rondeComm_t* comm, const rondeConfig_t* config, const Communicator* parent,
             const CommunicatorOptions& options, const Maker& maker);

}  // namespace ronde::api
