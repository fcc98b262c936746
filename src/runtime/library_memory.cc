#include "runtime/library_memory.h"

#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <iterator>
#include <utility>

#include "base/log.h"

namespace ronde {
namespace {

constexpr size_t kLeastArena = size_t{4} << 20;

constexpr size_t round_up(size_t value, size_t to) { return (value + to - 1) / to * to; }

size_t file_size_limit() {
  rlimit limit{};
  const bool limited = ::getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY;
  return limited ? static_cast<size_t>(limit.rlim_cur) : SIZE_MAX;
}

// More than the machine has is of no use.
size_t wanted_bytes(int64_t limit) {
  const auto machine = static_cast<size_t>(::sysconf(_SC_PHYS_PAGES)) * static_cast<size_t>(::sysconf(_SC_PAGESIZE));
  const size_t most = std::min({static_cast<size_t>(limit), machine, Arena::share_of_addresses(1), file_size_limit()});
  return most / Arena::kHugePage * Arena::kHugePage;
}

}  // namespace

std::shared_ptr<Arena> LibraryMemory::arena(int64_t limit) {
  const std::scoped_lock lock(mutex_);
  make_arena(limit);
  return arena_;
}

// As much as can be had: who limits addresses in other ways than by ulimit refuses what is too large.
void LibraryMemory::make_arena(int64_t limit) {
  if (tried_) return;
  tried_ = true;
  Status refusal(rondeSystemError, "RONDE_MEM_LIMIT, ulimit -v or ulimit -f leave no room");
  for (size_t bytes = wanted_bytes(limit); bytes >= kLeastArena && arena_ == nullptr; bytes /= 2) {
    bytes = bytes / Arena::kHugePage * Arena::kHugePage;
    auto made = Arena::create(bytes);
    if (made.ok()) arena_ = std::move(*made);
    refusal = made.status();
  }
  if (arena_ != nullptr) {
    free_.emplace(Arena::kPage, arena_->bytes());
  } else {
    log::info("memory of rondeMemAlloc is ordinary memory in this process: {}", refusal.message());
  }
}

std::byte* LibraryMemory::take_shared(size_t bytes) {
  if (!free_) return nullptr;
  const auto offset = free_->take(bytes, bytes >= Arena::kHugePage ? Arena::kHugePage : Arena::kPage);
  if (offset) return arena_->begin_use(*offset, bytes);
  return nullptr;
}

// Once, where some memory is shared.
void LibraryMemory::tell_of_ordinary(size_t bytes) {
  if (arena_ == nullptr || std::exchange(told_, true)) return;
  log::warn(
      "rondeMemAlloc: {} bytes find no room beside {} of {} that other ranks can read: they are ordinary memory, which "
      "operations copy, and so may others be later (RONDE_MEM_LIMIT, ulimit -v, ulimit -f)",
      bytes, shared_in_use_, arena_->bytes());
}

Result<void*> LibraryMemory::allocate(size_t bytes, int64_t limit) {
  const Status no_room = system_error(fmt::format("cannot allocate {} bytes", bytes), ENOMEM);
  if (bytes > SIZE_MAX / 2) return no_room;
  const size_t whole = round_up(bytes, Arena::kPage);
  Pieces made;  // before anything is taken: it may find no memory
  auto piece = made.extract(made.emplace(0, Piece{}).first);
  const std::scoped_lock lock(mutex_);
  make_arena(limit);
  std::byte* begin = take_shared(whole);
  const bool shared = begin != nullptr;
  if (!shared) {
    void* ordinary = ::mmap(nullptr, whole, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (ordinary == MAP_FAILED) return no_room;
    begin = static_cast<std::byte*>(ordinary);
    tell_of_ordinary(whole);
  }
  piece.key() = reinterpret_cast<uintptr_t>(begin);
  piece.mapped() = {whole, shared};
  pieces_.insert(std::move(piece));
  in_use_ += whole;
  if (shared) shared_in_use_ += whole;
  return static_cast<void*>(begin);
}

Status LibraryMemory::free(void* begin) {
  const std::scoped_lock lock(mutex_);
  const auto found = pieces_.find(reinterpret_cast<uintptr_t>(begin));
  if (found == pieces_.end()) {
    return {rondeInvalidArgument, "not a pointer that rondeMemAlloc has written, or one that was freed"};
  }
  const Piece piece = found->second;
  if (piece.holders > 0) {
    return {rondeInvalidUsage, "it is registered with a communicator, or in a window: deregister it first"};
  }
  if (piece.shared) {
    const size_t offset = arena_->place_of(begin, piece.bytes);
    free_->give_back(offset, piece.bytes);
    arena_->end_use(offset, piece.bytes);
    shared_in_use_ -= piece.bytes;
  } else {
    ::munmap(begin, piece.bytes);
  }
  in_use_ -= piece.bytes;
  pieces_.erase(found);
  return {};
}

LibraryMemory::Pieces::iterator LibraryMemory::around(const void* begin) {
  const auto address = reinterpret_cast<uintptr_t>(begin);
  auto piece = pieces_.upper_bound(address);
  if (piece == pieces_.begin()) return pieces_.end();
  --piece;
  return address - piece->first < piece->second.bytes ? piece : pieces_.end();
}

Result<std::shared_ptr<const void>> LibraryMemory::hold(const void* begin, size_t bytes) {
  Pieces::iterator piece;
  {
    const std::scoped_lock lock(mutex_);
    piece = around(begin);
    if (piece == pieces_.end()) return std::shared_ptr<const void>();
    const size_t left = piece->second.bytes - (reinterpret_cast<uintptr_t>(begin) - piece->first);
    if (bytes > left) {
      return Status(rondeInvalidArgument,
                    fmt::format("size is {} bytes: of what rondeMemAlloc gave out there, {} are left", bytes, left));
    }
    ++piece->second.holders;
  }
  // Not under the mutex: where there is no memory for it this calls the function at once.
  return std::shared_ptr<const void>(begin, [this, piece](const void*) {
    const std::scoped_lock end(mutex_);
    --piece->second.holders;
  });
}

bool LibraryMemory::knows_limit() const {
  const std::scoped_lock lock(mutex_);
  return tried_;
}

size_t LibraryMemory::in_use() const {
  const std::scoped_lock lock(mutex_);
  return in_use_;
}

size_t LibraryMemory::shared_in_use() const {
  const std::scoped_lock lock(mutex_);
  return shared_in_use_;
}

// What was not freed is still the program's, which may use it in destructors of its own.
LibraryMemory::~LibraryMemory() {
  if (arena_ != nullptr && shared_in_use_ > 0) arena_->leave_mapped();
}

}  // namespace ronde
