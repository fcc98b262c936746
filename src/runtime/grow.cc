#include "runtime/grow.h"

#include <fmt/format.h>

#include <numeric>
#include <utility>

#include "runtime/council.h"
#include "runtime/derived_id.h"
#include "runtime/process.h"

namespace ronde {
namespace {

constexpr Milliseconds kLastWord{1'000};

struct Plan {
  int32_t nranks = 0;
  int32_t has_id = 0;
  PublicId meeting{};
};

// Where they meet, or what all of them must do otherwise.
Result<PublicId> agreed_meeting(const std::vector<Plan>& plans) {
  const Plan* holder = nullptr;
  for (const Plan& plan : plans) {
    const auto rank = &plan - plans.data();
    if (plan.nranks != plans.front().nranks)
      return Status(rondeInvalidUsage,
                    fmt::format("rondeCommGrow: rank {} wants {} ranks, but rank 0 wants {}: all must give the same "
                                "number",
                                rank, plan.nranks, plans.front().nranks));
    if (plan.has_id == 0) continue;
    if (holder != nullptr && holder->meeting != plan.meeting)
      return Status(rondeInvalidUsage, fmt::format("rondeCommGrow: ranks {} and {} have different ids: one rank makes "
                                                   "one (rondeCommGetUniqueId) for all that join",
                                                   holder - plans.data(), rank));
    if (holder == nullptr) holder = &plan;
  }
  if (holder != nullptr) return holder->meeting;
  return Status(rondeInvalidUsage,
                "rondeCommGrow: no rank has an id: one of those that call it with a communicator makes it "
                "(rondeCommGetUniqueId), for those that join");
}

// Those that join wait at the meeting point, and know nobody else.
void tell_who_joins(Process& process, const GrowWish& wish, int rank, RendezvousOptions meeting, const Status& why) {
  if (!wish.id) return;
  const auto rendezvous = join(process.loop(), *wish.id, wish.nranks, rank, meeting, Deadline::after(kLastWord));
  if (rendezvous.ok()) (*rendezvous)->report(why);
}

}  // namespace

Result<UniqueId> grow_id(Process& process, const Communicator& parent, const RendezvousOptions& meeting) {
  RONDE_ASSIGN(OwnedRoot root, open_derived_meeting(process.loop(), meeting, parent.options().secret));
  root.keep();
  return root.id();
}

bool is_grow_id(const UniqueId& id, const Communicator& parent) {
  return id.secret == derived_secret(parent.options().secret, id.job);
}

Result<std::unique_ptr<Communicator>> make_grown(Process& process, Communicator& parent, Turn* turn,
                                                 const GrowWish& wish, CommunicatorOptions options,
                                                 const RendezvousOptions& meeting) {
  const int rank = parent.rank();
  const Secret secret = parent.options().secret;
  NewRanks ranks{std::vector<uint32_t>(static_cast<size_t>(parent.nranks())), rank, wish.nranks};
  std::iota(ranks.members.begin(), ranks.members.end(), 0);
  Council council(parent, turn, Purpose::grow, options.stop);
  Plan plan;
  plan.nranks = wish.nranks;
  if (wish.id) {
    plan.has_id = 1;
    plan.meeting = public_part(*wish.id);
  }
  const Result<std::vector<Plan>> plans = council.hear(plan);
  if (!plans.ok()) {
    tell_who_joins(process, wish, rank, meeting, plans.status());
    return plans.status();
  }
  const Deadline deadline = Deadline::after(std::chrono::seconds(options.settings.init_timeout_s));
  const Result<PublicId> agreed = agreed_meeting(*plans);
  if (!agreed.ok()) {
    council.close();
    tell_who_joins(process, wish, rank, meeting, agreed.status());
    return agreed.status();
  }
  return start_together(process, council, ranks, derived_id(*agreed, secret), std::move(options), meeting, deadline);
}

}  // namespace ronde
