// The memory that rondeMemAlloc gives out: pieces of the process's arena, which the ranks of its node can read, as long
// as it has room, then ordinary memory.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <optional>

#include "link/arena.h"
#include "link/free_ranges.h"

namespace ronde {

// Of a process. Any thread.
class LibraryMemory {
 public:
  LibraryMemory() = default;
  ~LibraryMemory();
  LibraryMemory(const LibraryMemory&) = delete;
  LibraryMemory& operator=(const LibraryMemory&) = delete;

  // What the ranks of this process's node can read; made at the first call, of at most `limit` bytes. Null: there is
  // none, which was logged.
  std::shared_ptr<Arena> arena(int64_t limit);

  // Whether the limit counts no more: only that of the first call of the two around this does.
  [[nodiscard]] bool knows_limit() const;
  // Zeroes, at a page boundary. rondeSystemError: no memory.
  Result<void*> allocate(size_t bytes, int64_t limit);
  // rondeInvalidArgument: not what allocate() has returned. rondeInvalidUsage: it is held.
  Status free(void* begin);

  // While the result lives, what lies there cannot be freed. Null: it does not begin in an allocation.
  // rondeInvalidArgument: it ends beyond that.
  Result<std::shared_ptr<const void>> hold(const void* begin, size_t bytes);

  // Bytes that are allocated, and what of them others can read.
  [[nodiscard]] size_t in_use() const;
  [[nodiscard]] size_t shared_in_use() const;

 private:
  struct Piece {
    size_t bytes = 0;  // whole pages
    bool shared = false;
    int holders = 0;
  };
  using Pieces = std::map<uintptr_t, Piece>;

  void make_arena(int64_t limit);
  std::byte* take_shared(size_t bytes);
  void tell_of_ordinary(size_t bytes);
  [[nodiscard]] Pieces::iterator around(const void* begin);

  mutable std::mutex mutex_;
  bool tried_ = false;
  bool told_ = false;  // that some is ordinary
  std::shared_ptr<Arena> arena_;
  std::optional<FreeRanges> free_;  // of the arena
  Pieces pieces_;                   // by address
  size_t in_use_ = 0;
  size_t shared_in_use_ = 0;
};

}  // namespace ronde
