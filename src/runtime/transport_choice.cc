#include "runtime/transport_choice.h"

#include <fmt/format.h>

#include <algorithm>

namespace ronde {
namespace {

// Bit by bit: transport by transport, in each of them rank by rank.
class Reach {
 public:
  Reach(const Bytes& bits, size_t nranks) : bits_(bits), nranks_(nranks) {}

  [[nodiscard]] bool operator()(size_t transport, size_t rank) const {
    const size_t bit = transport * nranks_ + rank;
    return (bits_[bit / 8] & std::byte{1} << (bit % 8)) != std::byte{0};
  }

 private:
  const Bytes& bits_;
  size_t nranks_;
};

size_t reach_bytes(size_t transports, size_t nranks) { return (transports * nranks + 7) / 8; }

}  // namespace

Bytes write_reach(const std::vector<std::vector<bool>>& reached, const std::vector<uint32_t>& unread_arenas) {
  const size_t nranks = reached.empty() ? 0 : reached.front().size();
  Bytes bits(reach_bytes(reached.size(), nranks));
  for (size_t transport = 0; transport < reached.size(); ++transport) {
    for (size_t rank = 0; rank < nranks; ++rank) {
      const size_t bit = transport * nranks + rank;
      if (reached[transport][rank]) bits[bit / 8] |= std::byte{1} << (bit % 8);
    }
  }
  Writer writer;
  writer.raw(bits.data(), bits.size());
  for (const uint32_t rank : unread_arenas) writer.number(rank);
  return writer.take();
}

std::vector<bool> who_reads_arena_of(size_t rank, const std::vector<Bytes>& reached, size_t transports) {
  std::vector<bool> reads(reached.size(), true);
  for (size_t other = 0; other < reached.size(); ++other) {
    Reader reader(ByteView(reached[other]).subspan(reach_bytes(transports, reached.size())));
    while (reader.ok() && !reader.complete()) {
      if (reader.number<uint32_t>() == rank) reads[other] = false;
    }
  }
  return reads;
}

std::optional<size_t> best_transport(const std::vector<Bytes>& reached, size_t a, size_t b,
                                     const std::vector<bool>& usable) {
  const Reach from_a(reached[a], reached.size());
  const Reach from_b(reached[b], reached.size());
  for (size_t i = 0; i < usable.size(); ++i) {
    if (usable[i] && from_a(i, b) && from_b(i, a)) return i;
  }
  return std::nullopt;
}

Result<TransportChoice> TransportChoice::among(const std::vector<Bytes>& reached, size_t transports,
                                               const std::string& allowed) {
  const size_t nranks = reached.size();
  TransportChoice made;
  made.nranks_ = nranks;
  made.choice_.resize(nranks == 0 ? 0 : place(nranks, 0));
  for (size_t a = 0; a < nranks; ++a) {
    const size_t bits = reach_bytes(transports, nranks);
    if (reached[a].size() < bits || (reached[a].size() - bits) % sizeof(uint32_t) != 0) {
      return Status(rondeInternalError, fmt::format("what rank {} reaches cannot be read", a));
    }
    const Reach from_a(reached[a], nranks);
    for (size_t b = 0; b < a; ++b) {
      const Reach from_b(reached[b], nranks);
      size_t best = 0;
      while (best < transports && !(from_a(best, b) && from_b(best, a))) ++best;
      if (best == transports) {
        return Status(rondeInvalidUsage,
                      fmt::format("no transport joins rank {} and rank {} (RONDE_TRANSPORT={}); inproc "
                                  "joins ranks of one process, shm those of one host, tcp all",
                                  b, a, allowed));
      }
      made.choice_[place(a, b)] = static_cast<uint8_t>(best);
    }
  }
  return made;
}

std::vector<int> TransportChoice::node_of_rank(const std::vector<bool>& shares_memory) const {
  std::vector<int> node(nranks_);
  for (size_t a = 0; a < node.size(); ++a) {
    node[a] = static_cast<int>(a);
    for (size_t b = 0; b < a && node[a] == static_cast<int>(a); ++b) {
      if (shares_memory[between(a, b)]) node[a] = node[b];
    }
  }
  return node;
}

bool TransportChoice::all_share_memory(const std::vector<bool>& shares_memory) const {
  return std::all_of(choice_.begin(), choice_.end(), [&](uint8_t transport) { return shares_memory[transport]; });
}

}  // namespace ronde
