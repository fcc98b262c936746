// The links of a rank as LinkTask uses them, by place in an order of the ranks; and which ones a rank wants.
#pragma once

#include <vector>

#include "link/transport.h"
#include "memory/reduce.h"
#include "runtime/pair_links.h"

namespace ronde {

// The links that a schedule uses, and room to work in. Belongs to the communicator; one operation uses it at a time.
struct LinkSet {
  std::vector<int> order;               // ranks by position
  int position = 0;                     // of this rank
  std::vector<SendPort*> send;          // by position; null where there is no link
  std::vector<ReceivePort*> receive;    // by position
  std::vector<uint32_t> sent;           // by position: slices of this operation so far
  std::vector<uint32_t> received;       // by position
  std::vector<ReduceSource> sources;    // room for one step
  std::vector<const std::byte*> slots;  // by place in a step's `from`: payload that has arrived
  PairLinks* pairs = nullptr;           // where links that are not there come from; null: all are there
};

// Without links. order: all ranks, by position.
[[nodiscard]] LinkSet empty_link_set(std::vector<int> order, int rank);

// Those of the ring, which are made in start-up.
[[nodiscard]] std::vector<LinkWish> links_wanted(const LinkSet& ring);

// The link, which must outlive the set, becomes one of it.
void enter(LinkSet& links, const MadeLink& link);

// Whether the link to or from a position is there; asks for it if it is not. An error: it cannot be made.
Result<bool> has_link(LinkSet& links, int position, bool outgoing);

}  // namespace ronde
