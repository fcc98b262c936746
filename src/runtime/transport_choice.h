// Which transport joins each two ranks: the best that reaches both ways. Every rank computes the same from the same
// bytes.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/status.h"
#include "base/wire.h"

namespace ronde {

// By transport (best first) and rank: what a rank has reached; and, in rising order, ranks whose arenas it cannot read.
// As bytes for the others.
Bytes write_reach(const std::vector<std::vector<bool>>& reached, const std::vector<uint32_t>& unread_arenas = {});

// By rank: whether it can read the arena of `rank`, if it reads its memory at all. reached: what each rank has written,
// of which a TransportChoice was made; transports: their number.
std::vector<bool> who_reads_arena_of(size_t rank, const std::vector<Bytes>& reached, size_t transports);

// The best transport that reaches both ways between two ranks, among those that are usable; nothing: there is none.
// reached: what each rank has written, of which a TransportChoice was made. usable: by transport.
std::optional<size_t> best_transport(const std::vector<Bytes>& reached, size_t a, size_t b,
                                     const std::vector<bool>& usable);

class TransportChoice {
 public:
  TransportChoice() = default;
  // reached: what each rank has written, in rank order. rondeInvalidUsage names two ranks that nothing joins; `allowed`
  // is RONDE_TRANSPORT, for that text.
  static Result<TransportChoice> among(const std::vector<Bytes>& reached, size_t transports,
                                       const std::string& allowed);

  // Index of the transport between two ranks. a != b.
  [[nodiscard]] size_t between(size_t a, size_t b) const { return a > b ? choice_[place(a, b)] : choice_[place(b, a)]; }

  // A node is a set of ranks that share memory; each rank is in the node of the lowest rank that it shares memory with.
  // shares_memory: by transport.
  [[nodiscard]] std::vector<int> node_of_rank(const std::vector<bool>& shares_memory) const;
  [[nodiscard]] bool all_share_memory(const std::vector<bool>& shares_memory) const;

 private:
  // Small, since it grows with the square of the ranks.
  [[nodiscard]] static size_t place(size_t higher, size_t lower) { return higher * (higher - 1) / 2 + lower; }

  size_t nranks_ = 0;
  std::vector<uint8_t> choice_;  // by pair
};

}  // namespace ronde
