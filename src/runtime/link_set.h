// The links of a rank as LinkTask uses them, by place in an order of the ranks; and which ones a rank wants.
#pragma once

#include <vector>

#include "link/transport.h"
#include "memory/reduce.h"
#include "plan/choose.h"

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
};

// Without links. order: all ranks, by position.
[[nodiscard]] LinkSet empty_link_set(std::vector<int> order, int rank);

// Those of the ring; and for the star, where that was asked for, all that go to or come from its centre.
[[nodiscard]] std::vector<LinkWish> links_wanted(const LinkSet& ring, plan::Algorithm requested);

// The link, which must outlive the set, becomes one of it.
void enter(LinkSet& links, const MadeLink& link);

}  // namespace ronde
