// Links over segments, for every transport whose ranks read each other's memory.
#pragma once

#include <span>
#include <vector>

#include "link/transport.h"

namespace ronde {

// The part of an endpoint that all memory transports share: what reach() has found, and links made of it.
class MemoryEndpoint : public Endpoint {
 public:
  [[nodiscard]] const PeerMemory* memory_of(int rank) const final;
  Result<std::vector<MadeLink>> connect(std::span<const LinkWish> wishes, const Peers& peers, const OwnMemory& own,
                                        Deadline deadline) final;
  // The places of all links are fixed: there is nothing to wait for.
  void request(const LinkWish&, const OnceFlag*) final {}
  // rondeInvalidUsage when there are too many ranks in the node for pair links.
  std::optional<Result<MadeLink>> take(const LinkWish& wish) final;

 protected:
  explicit MemoryEndpoint(const EndpointContext& context)
      : context_(context), memory_(static_cast<size_t>(context.nranks)) {}

  [[nodiscard]] const EndpointContext& context() const { return context_; }
  void found(int rank, PeerMemory memory) { memory_[static_cast<size_t>(rank)] = std::move(memory); }

 private:
  [[nodiscard]] MadeLink make_link(const LinkWish& wish) const;

  EndpointContext context_;
  std::vector<PeerMemory> memory_;  // by rank
  OwnMemory own_;                   // since connect()
  std::vector<int> local_index_;    // by rank
  std::vector<bool> read_arena_;    // by rank: see Peers
};

}  // namespace ronde
