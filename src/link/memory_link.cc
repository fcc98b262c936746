#include "link/memory_link.h"

#include <fmt/format.h>

namespace ronde {
namespace {

Ringer ringer_of(const PeerMemory& peer, int own_rank) {
  return {&peer.segment->words().sleep, peer.event_fd, own_rank};
}

MadeLink make_link(const LinkWish& wish, const OwnMemory& own, const PeerMemory& peer, int own_rank, int own_index,
                   int peer_index) {
  Segment& mine = *own.segment;
  Segment& theirs = *peer.segment;
  const SegmentLayout& layout = mine.layout();
  const bool ring = wish.kind == LinkKind::ring;
  const SlotGeometry geometry = ring ? layout.ring : layout.pair;
  const Ringer ringer = ringer_of(peer, own_rank);
  MadeLink link;
  if (wish.outgoing) {
    std::byte* slots = ring ? mine.ring_slots() : mine.pair_slots(peer_index);
    SharedCounter* tail = ring ? &mine.ring_tail() : &mine.pair_tail(peer_index);
    const SharedCounter* head = ring ? &theirs.ring_head() : &theirs.pair_head(own_index);
    link.send = std::make_unique<SendPort>(wish.peer, SlotSender(geometry, slots, tail, head), ringer);
  } else {
    const std::byte* slots = ring ? theirs.ring_slots() : theirs.pair_slots(own_index);
    const SharedCounter* tail = ring ? &theirs.ring_tail() : &theirs.pair_tail(own_index);
    SharedCounter* head = ring ? &mine.ring_head() : &mine.pair_head(peer_index);
    link.receive = std::make_unique<ReceivePort>(wish.peer, SlotReceiver(geometry, slots, tail, head), ringer);
  }
  return link;
}

}  // namespace

const PeerMemory* MemoryEndpoint::memory_of(int rank) const {
  const PeerMemory& memory = memory_[static_cast<size_t>(rank)];
  return memory.segment ? &memory : nullptr;
}

Result<std::vector<MadeLink>> MemoryEndpoint::connect(std::span<const LinkWish> wishes, const Peers& peers,
                                                      const OwnMemory& own, Deadline) {
  std::vector<MadeLink> links;
  links.reserve(wishes.size());
  const int own_index = peers.local_index[static_cast<size_t>(context_.rank)];
  for (const LinkWish& wish : wishes) {
    if (wish.kind == LinkKind::pair && own.segment->layout().pair.slots == 0) {
      return Status(rondeInvalidUsage,
                    fmt::format("{} ranks in a node are too many for pair links in shared memory; use "
                                "RONDE_TRANSPORT=tcp for this algorithm",
                                own.segment->layout().local_ranks));
    }
    const int peer_index = peers.local_index[static_cast<size_t>(wish.peer)];
    links.push_back(make_link(wish, own, *memory_of(wish.peer), context_.rank, own_index, peer_index));
  }
  return links;
}

}  // namespace ronde
