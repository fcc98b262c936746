#include "common/pattern.h"

#include <algorithm>
#include <cstring>

namespace perf {
namespace {

template <typename Bits>
Tile make_tile(const TypeInfo& type, const Bits& bits) {
  Tile tile(kPeriod * type.bytes);
  for (std::size_t index = 0; index < kPeriod; ++index) store_bits(type, bits(index), &tile[index * type.bytes]);
  return tile;
}

// Calls piece(offset in the buffer, offset in the tile, bytes) for each stretch that lies in one period.
template <typename Piece>
void for_each_piece(const TypeInfo& type, std::size_t first, std::size_t count, const Piece& piece) {
  std::size_t place = first % kPeriod;
  for (std::size_t done = 0; done < count;) {
    const std::size_t now = std::min(count - done, kPeriod - place);
    piece(done * type.bytes, place * type.bytes, now * type.bytes);
    done += now;
    place = 0;
  }
}

// By words: compilers do not vectorize the loop over bytes at -O2.
void copy_inverted(const std::byte* from, std::size_t bytes, std::byte* to) {
  std::size_t at = 0;
  for (; at + sizeof(std::uint64_t) <= bytes; at += sizeof(std::uint64_t)) {
    std::uint64_t word = 0;
    std::memcpy(&word, from + at, sizeof(word));
    word = ~word;
    std::memcpy(to + at, &word, sizeof(word));
  }
  for (; at < bytes; ++at) to[at] = ~from[at];
}

std::size_t wrong_elements(const TypeInfo& type, const std::byte* expected, std::size_t bytes, int ulps,
                           const std::byte* got) {
  std::size_t wrong = 0;
  for (std::size_t at = 0; at < bytes; at += type.bytes) {
    const std::uint64_t want = load_bits(type, expected + at);
    const std::uint64_t have = load_bits(type, got + at);
    if (want == have) continue;
    if (ulps == 0 || ulps_between(type, want, have) > static_cast<std::uint64_t>(ulps)) ++wrong;
  }
  return wrong;
}

}  // namespace

const Tile& Pattern::input(int rank) {
  Tile& tile = inputs_[rank];
  if (tile.empty()) tile = make_tile(type_, [&](std::size_t index) { return input_bits(reduction_, rank, index); });
  return tile;
}

const Tile& Pattern::reduced() {
  if (reduced_.empty())
    reduced_ = make_tile(type_, [&](std::size_t index) { return expected_bits(reduction_, index); });
  return reduced_;
}

const Tile& Pattern::filler() {
  // Finite and of moderate size, as operations in place may be timed on it.
  const Reduction values{reduction_.type, rondeMax, reduction_.nranks};
  if (filler_.empty()) {
    filler_ = make_tile(type_, [&](std::size_t index) { return input_bits(values, values.nranks, index); });
  }
  return filler_;
}

void fill(const TypeInfo& type, const Tile& tile, std::size_t first, std::size_t count, bool invert, std::byte* to) {
  for_each_piece(type, first, count, [&](std::size_t at, std::size_t from, std::size_t bytes) {
    if (!invert) {
      std::memcpy(to + at, &tile[from], bytes);
      return;
    }
    copy_inverted(&tile[from], bytes, to + at);
  });
}

std::size_t count_wrong(const TypeInfo& type, const Tile& tile, std::size_t first, std::size_t count, int ulps,
                        const std::byte* got) {
  std::size_t wrong = 0;
  for_each_piece(type, first, count, [&](std::size_t at, std::size_t from, std::size_t bytes) {
    if (std::memcmp(got + at, &tile[from], bytes) == 0) return;
    wrong += wrong_elements(type, &tile[from], bytes, ulps, got + at);
  });
  return wrong;
}

}  // namespace perf
