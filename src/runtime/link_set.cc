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

std::vector<LinkWish> links_wanted(const LinkSet& ring) {
  const auto at = static_cast<size_t>(ring.position);
  const size_t nranks = ring.order.size();
  const int next = ring.order[(at + 1) % nranks];
  const int previous = ring.order[(at + nranks - 1) % nranks];
  return {{LinkKind::ring, true, next}, {LinkKind::ring, false, previous}};
}

void enter(LinkSet& links, const MadeLink& link) {
  const int peer = link.send ? link.send->peer() : link.receive->peer();
  const auto at = static_cast<size_t>(position_of(peer, links.order));
  if (link.send) links.send[at] = link.send.get();
  if (link.receive) links.receive[at] = link.receive.get();
}

Result<bool> has_link(LinkSet& links, int position, bool outgoing) {
  const auto at = static_cast<size_t>(position);
  if (outgoing) {
    SendPort*& port = links.send[at];
    if (port == nullptr) {
      RONDE_ASSIGN(port, links.pairs->send_to(links.order[at]));
    }
    return port != nullptr;
  }
  ReceivePort*& port = links.receive[at];
  if (port == nullptr) {
    RONDE_ASSIGN(port, links.pairs->receive_from(links.order[at]));
  }
  return port != nullptr;
}

}  // namespace ronde
