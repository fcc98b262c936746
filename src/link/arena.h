// The memory of one process that the ranks of its node can read, beside segments: what rondeMemAlloc gives out lies in
// it, so that operations on it need no copy that others could read. A file of memory as large as may ever be needed,
// without pages until they are touched; its descriptor travels once, with a segment, and every process maps it whole.
//
// Only its process can write it, as with segments: a seal keeps peers to read-only mappings, another one keeps its
// size, so that no read of it can fail. Pieces of it are given out by runtime/library_memory.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "base/crypto.h"
#include "base/fd.h"
#include "base/fork_guard.h"
#include "base/status.h"
#include "link/place.h"

namespace ronde {

class Arena {
 public:
  static constexpr size_t kPage = 4096;
  static constexpr size_t kHugePage = size_t{2} << 20;

  // That of this process. Forked children inherit it, as memory that they share with it. An error: the system refuses
  // so many bytes, or sealed memory at all.
  static Result<std::shared_ptr<Arena>> create(size_t bytes);
  // Maps the arena behind a descriptor that a peer handed over, read-only. rondeSystemError: it is not sealed, its
  // token is not the one that was told, or it has more than so many bytes.
  static Result<std::shared_ptr<Arena>> map(int memfd, const Nonce& token, size_t most_bytes);
  // What each of so many arenas may take where the addresses of this process are limited (ulimit -v): the program needs
  // the most of them.
  [[nodiscard]] static size_t share_of_addresses(size_t arenas);
  ~Arena();
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

  [[nodiscard]] const Nonce& token() const { return token_; }
  [[nodiscard]] int memfd() const { return memfd_.get(); }  // of this process's own, else -1
  [[nodiscard]] size_t bytes() const { return bytes_; }

  // Of bytes that all lie in it and are the user's; else kNoPlace.
  [[nodiscard]] Place place_of(const void* begin, size_t bytes) const {
    const size_t offset = reinterpret_cast<uintptr_t>(begin) - reinterpret_cast<uintptr_t>(base_);
    return bytes > 0 && holds(offset, bytes) ? offset : kNoPlace;
  }
  // Null if not all of the bytes lie in it, whatever a peer has told.
  [[nodiscard]] const std::byte* at(Place place, size_t bytes) const {
    return holds(place, bytes) ? base_ + place : nullptr;
  }

  // Of the owner: memory of pages that begin at an offset.
  [[nodiscard]] std::byte* begin_use(size_t offset, size_t bytes);
  // The pages go back to the system, and read as zeroes from now on, here and at peers.
  void end_use(size_t offset, size_t bytes);
  // This process keeps the mapping until it ends.
  void leave_mapped() { stays_ = true; }

 private:
  Arena(std::byte* base, size_t bytes, const Nonce& token, Fd memfd)
      : base_(base), bytes_(bytes), token_(token), memfd_(std::move(memfd)) {}
  [[nodiscard]] bool holds(uint64_t offset, size_t bytes) const {
    return offset >= kPage && offset < bytes_ && bytes <= bytes_ - offset;
  }

  std::byte* base_;
  size_t bytes_;
  Nonce token_;
  Fd memfd_;
  bool stays_ = false;
  uint32_t made_in_ = fork_guard::generation();
};

}  // namespace ronde
