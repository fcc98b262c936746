// Communicators of ronde.h: one with more ranks than before.
#include "runtime/grow.h"

#include <fmt/format.h>

#include "api/calls.h"
#include "api/handles.h"
#include "api/making.h"
#include "api/options.h"
#include "bootstrap/messages.h"
#include "runtime/make_communicator.h"

namespace ronde::api {
namespace {

constexpr const char* kGrow = "rondeCommGrow";

// A rank that joins knows the new communicator only by its id.
Status join_grown(int nranks, const rondeUniqueId* packed, int rank, rondeComm_t* new_comm,
                  const rondeConfig_t* config) {
  RONDE_TRY(not_null(packed, kGrow, "uniqueId (of a rank that joins)"));
  RONDE_TRY(check_rank(nranks, rank));
  RONDE_ASSIGN(const UniqueId id, UniqueId::unpack(*packed));
  RONDE_ASSIGN(const Settings settings, settings_with(config, kGrow));
  return start(new_comm, config, nullptr, make_options(settings, config, nranks, rank),
               [id](CommunicatorOptions made, const RendezvousOptions& meeting, Deadline deadline) {
                 return make_rank(process(), id, std::move(made), meeting, deadline);
               });
}

Status check_wish(const Communicator& parent, int nranks, int rank) {
  if (nranks <= parent.nranks() || nranks > static_cast<int>(kMostRanks))
    return {rondeInvalidArgument,
            fmt::format("{}: nranks is {}: {} to {} are allowed, as the communicator has {} ranks", kGrow, nranks,
                        parent.nranks() + 1, kMostRanks, parent.nranks())};
  if (rank != -1 && rank != parent.rank())
    return {rondeInvalidArgument,
            fmt::format("{}: rank is {}: ranks of the communicator keep their numbers and give -1", kGrow, rank)};
  return {};
}

Status grow(rondeComm_t comm, int nranks, const rondeUniqueId* packed, int rank, rondeComm_t* new_comm,
            const rondeConfig_t* config) {
  RONDE_TRY(check_not_forked(kGrow));
  RONDE_TRY(not_null(new_comm, kGrow, "newcomm"));
  if (comm == nullptr) return join_grown(nranks, packed, rank, new_comm, config);
  RONDE_TRY(check_callable(comm, kGrow));
  Communicator& parent = *comm->communicator;
  RONDE_TRY(check_wish(parent, nranks, rank));
  GrowWish wish;
  wish.nranks = nranks;
  if (packed != nullptr) {
    RONDE_ASSIGN(wish.id, UniqueId::unpack(*packed));
    if (!is_grow_id(*wish.id, parent))
      return {rondeInvalidArgument,
              fmt::format("{}: the id is not one of this communicator (rondeCommGetUniqueId)", kGrow)};
  }
  RONDE_ASSIGN(const CommunicatorOptions options, options_of_child(parent, config, kGrow));
  RONDE_TRY(parent.refusal());
  RONDE_ASSIGN(const std::shared_ptr<Turn> turn, take_turn(parent, config));
  const auto own_id = std::exchange(comm->grow_id, std::nullopt);
  if (!wish.id) wish.id = own_id;
  return start(new_comm, config, &parent, options,
               [&parent, turn, wish](CommunicatorOptions made, const RendezvousOptions& meeting, Deadline) {
                 return make_grown(process(), parent, turn.get(), wish, std::move(made), meeting);
               });
}

Status get_unique_id(rondeComm_t comm, rondeUniqueId* id) {
  constexpr const char* kFunction = "rondeCommGetUniqueId";
  RONDE_TRY(check_ready(comm, kFunction));
  RONDE_TRY(not_null(id, kFunction, "uniqueId"));
  const Communicator& parent = *comm->communicator;
  RONDE_TRY(parent.refusal());
  RONDE_ASSIGN(comm->grow_id, grow_id(process(), parent, rendezvous_options(parent.options().settings)));
  comm->grow_id->pack_into(*id);
  return {};
}

}  // namespace
}  // namespace ronde::api

using ronde::api::guarded;

rondeResult_t rondeCommGetUniqueId(rondeComm_t comm, rondeUniqueId* uniqueId) {
  return guarded(
      [&] { return ronde::api::said_by("rondeCommGetUniqueId", ronde::api::get_unique_id(comm, uniqueId)); });
}

rondeResult_t rondeCommGrow(rondeComm_t comm, int nranks, const rondeUniqueId* uniqueId, int rank, rondeComm_t* newcomm,
                            rondeConfig_t* config) {
  return guarded([&] {
    return ronde::api::remembered_by_group(
        ronde::api::said_by("rondeCommGrow", ronde::api::grow(comm, nranks, uniqueId, rank, newcomm, config)));
  });
}
