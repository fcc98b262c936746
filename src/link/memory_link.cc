#include "link/memory_link.h"

#include <fmt/format.h>

namespace ronde {
namespace {

Ringer ringer_of(const PeerMemory& peer, int own_rank) {
  return {&peer.segment->words().sleep, peer.event_fd, own_rank};
}

}  // namespace

const PeerMemory* MemoryEndpoint::memory_of(int rank) const {
  const PeerMemory& memory = memory_[static_cast<size_t>(rank)];
  return memory.segment ? &memory : nullptr;
}

Result<std::vector<MadeLink>> MemoryEndpoint::connect(std::span<const LinkWish> wishes, const Peers& peers,
                                                      const OwnMemory& own, Deadline) {
  own_ = own;
  local_index_ = peers.local_index;
  read_arena_ = peers.read_arena;
  for (PeerMemory& memory : memory_) memory.black_box.reset();  // whoever keeps it has it by now
  std::vector<MadeLink> links;
  links.reserve(wishes.size());
  for (const LinkWish& wish : wishes) links.push_back(make_link(wish));
  return links;
}

std::optional<Result<MadeLink>> MemoryEndpoint::take(const LinkWish& wish) {
  const SegmentLayout& layout = own_.segment->layout();
  if (wish.kind == LinkKind::pair && layout.pair.slots == 0) {
    return Status(rondeInvalidUsage,
                  fmt::format("no link between rank {} and rank {}: {} ranks in a node are too many for pair links in "
                              "shared memory, and no other transport joins the two: use RONDE_TRANSPORT=auto or tcp",
                              context_.rank, wish.peer, layout.local_ranks));
  }
  return make_link(wish);
}

MadeLink MemoryEndpoint::make_link(const LinkWish& wish) const {
  const int own_index = local_index_[static_cast<size_t>(context_.rank)];
  const int peer_index = local_index_[static_cast<size_t>(wish.peer)];
  const PeerMemory& peer = memory_[static_cast<size_t>(wish.peer)];
  Segment& mine = *own_.segment;
  Segment& theirs = *peer.segment;
  const SegmentLayout& layout = mine.layout();
  const bool ring = wish.kind == LinkKind::ring;
  const SlotGeometry geometry = ring ? layout.ring : layout.pair;
  const Ringer ringer = ringer_of(peer, context_.rank);
  MadeLink link;
  if (wish.outgoing) {
    std::byte* slots = ring ? mine.ring_slots() : mine.pair_slots(peer_index);
    SharedCounter* tail = ring ? &mine.ring_tail() : &mine.pair_tail(peer_index);
    const SharedCounter* head = ring ? &theirs.ring_head() : &theirs.pair_head(own_index);
    const bool lends = !read_arena_.empty() && read_arena_[static_cast<size_t>(wish.peer)];
    link.send = std::make_unique<SendPort>(wish.peer, SlotSender(geometry, slots, tail, head), ringer,
                                           lends ? own_.arena.get() : nullptr);
  } else {
    const std::byte* slots = ring ? theirs.ring_slots() : theirs.pair_slots(own_index);
    const SharedCounter* tail = ring ? &theirs.ring_tail() : &theirs.pair_tail(own_index);
    SharedCounter* head = ring ? &mine.ring_head() : &mine.pair_head(peer_index);
    const Lender lender{peer.arena.get(), &theirs.words().withdrawn};
    link.receive = std::make_unique<ReceivePort>(wish.peer, SlotReceiver(geometry, slots, tail, head), ringer, lender);
  }
  return link;
}

}  // namespace ronde
