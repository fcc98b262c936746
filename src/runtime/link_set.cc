#include "runtime/link_set.h"

#include <algorithm>
#include <utility>

namespace ronde {
namespace {

int position_of(int rank, const std::vector<int>& order) {
  return static_cast<int>(std::find(order.begin(), order.end(), rank) - order.begin());
}

}  // namespace

LinkSet empty_link_set(std::vector<int> order, int rank) {
  LinkSet links;
  const size_t nranks = order.size();
  links.position = position_of(rank, order);
  links.order = std::move(order);
  links.send.resize(nranks);
  links.receive.resize(nranks);
  links.sent.resize(nranks);
  links.received.resize(nranks);
  links.sources.resize(nranks + 1);
  links.slots.resize(nranks);
  return links;
}

std::vector<LinkWish> links_wanted(const LinkSet& ring, plan::Algorithm requested) {
  const auto at = static_cast<size_t>(ring.position);
  const size_t nranks = ring.order.size();
  const int next = ring.order[(at + 1) % nranks];
  const int previous = ring.order[(at + nranks - 1) % nranks];
  std::vector<LinkWish> wishes{{LinkKind::ring, true, next}, {LinkKind::ring, false, previous}};
  if (requested != plan::Algorithm::star) return wishes;
  const int rank = ring.order[at];
  for (int other = 0; other < static_cast<int>(nranks); ++other) {
    if (other == rank || (other != 0 && rank != 0)) continue;
    wishes.push_back({LinkKind::pair, true, other});
    wishes.push_back({LinkKind::pair, false, other});
  }
  return wishes;
}

void enter(LinkSet& links, const MadeLink& link) {
  const int peer = link.send ? link.send->peer() : link.receive->peer();
  const auto at = static_cast<size_t>(position_of(peer, links.order));
  if (link.send) links.send[at] = link.send.get();
  if (link.receive) links.receive[at] = link.receive.get();
}

}  // namespace ronde
