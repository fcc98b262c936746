#include "runtime/split.h"

#include <algorithm>
#include <utility>

#include "runtime/council.h"
#include "runtime/derived_id.h"
#include "runtime/process.h"

namespace ronde {
namespace {

// First round.
struct Wish {
  int32_t has_color = 0;
  int32_t color = 0;
  int32_t key = 0;
};

// Second round: the first rank of each colour says where its ranks meet.
struct Offer {
  Outcome outcome;
  PublicId meeting{};
};

NewRanks ranks_of_color(const std::vector<Wish>& wishes, uint32_t rank) {
  NewRanks ranks;
  for (uint32_t other = 0; other < wishes.size(); ++other) {
    if (wishes[other].has_color != 0 && wishes[other].color == wishes[rank].color) ranks.members.push_back(other);
  }
  std::stable_sort(ranks.members.begin(), ranks.members.end(),
                   [&](uint32_t a, uint32_t b) { return wishes[a].key < wishes[b].key; });
  const auto here = std::find(ranks.members.begin(), ranks.members.end(), rank);
  ranks.rank = static_cast<int>(here - ranks.members.begin());
  ranks.nranks = static_cast<int>(ranks.members.size());
  return ranks;
}

Offer offer_of(const Result<OwnedRoot>& opened) {
  Offer offer;
  offer.outcome = Outcome::of(opened.status());
  if (opened.ok()) offer.meeting = public_part(opened->id());
  return offer;
}

Result<UniqueId> id_of(const Result<OwnedRoot>& root) {
  RONDE_TRY(root.status());
  return root->id();
}

Result<UniqueId> meeting_of(const Offer& offer, uint32_t first, const Secret& secret) {
  if (!offer.outcome.ok()) return offer.outcome.told_by(first, "could not open the meeting point of the new one");
  return derived_id(offer.meeting, secret);
}

}  // namespace

Result<std::unique_ptr<Communicator>> make_part(Process& process, Communicator& parent, Turn* turn, Purpose purpose,
                                                const SplitWish& wish, CommunicatorOptions options,
                                                const RendezvousOptions& meeting) {
  const auto rank = static_cast<uint32_t>(parent.rank());
  const Secret secret = parent.options().secret;
  Council council(parent, turn, purpose, options.stop);
  RONDE_ASSIGN(const std::vector<Wish> wishes,
               council.hear(Wish{wish.color.has_value() ? 1 : 0, wish.color.value_or(0), wish.key}));
  const Deadline deadline = Deadline::after(std::chrono::seconds(options.settings.init_timeout_s));
  const NewRanks ranks = wish.color ? ranks_of_color(wishes, rank) : NewRanks();
  std::optional<Result<OwnedRoot>> opened;
  if (ranks.nranks > 1 && ranks.rank == 0) opened.emplace(open_derived_meeting(process.loop(), meeting, secret));
  RONDE_ASSIGN(const std::vector<Offer> offers, council.hear(opened ? offer_of(*opened) : Offer()));
  if (!wish.color) {
    RONDE_TRY(let_others_start(council));
    return std::unique_ptr<Communicator>();
  }
  const uint32_t first = ranks.members.front();
  const Result<UniqueId> where = ranks.nranks == 1 ? UniqueId()  // nobody to meet
                                 : opened          ? id_of(*opened)
                                                   : meeting_of(offers[first], first, secret);
  auto part = start_together(process, council, ranks, where, std::move(options), meeting, deadline);
  if (part.ok() && opened) (*opened)->keep();
  return part;
}

}  // namespace ronde
