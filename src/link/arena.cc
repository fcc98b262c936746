#include "link/arena.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstring>

#include "base/file_size.h"

namespace ronde {
namespace {

constexpr size_t kPartsOfAddresses = 8;  // one is for the own arena, one for those of peers
constexpr int kSeals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_FUTURE_WRITE | F_SEAL_SEAL;

// Null with errno. Without pages that are not used: not for swap space, not in a core dump, and not for a program that
// locks all its pages (mlockall), each of which would make all of them.
std::byte* map_sparse(size_t bytes, int memfd, int protection, bool inherited) {
  const fork_guard::Section section;
  // Pages that nobody may touch are not made by locking them.
  void* base = ::mmap(nullptr, bytes, PROT_NONE, MAP_SHARED | MAP_NORESERVE, memfd, 0);
  if (base == MAP_FAILED) return nullptr;
  bool kept_out = ::munlock(base, bytes) == 0 && ::mprotect(base, bytes, protection) == 0;
  kept_out &= ::madvise(base, bytes, MADV_DONTDUMP) == 0;
  if (!inherited) kept_out &= ::madvise(base, bytes, MADV_DONTFORK) == 0;
  if (kept_out) return static_cast<std::byte*>(base);
  const int error = errno;
  ::munmap(base, bytes);
  errno = error;
  return nullptr;
}

}  // namespace

Result<std::shared_ptr<Arena>> Arena::create(size_t bytes) {
  Nonce token{};
  RONDE_TRY(random_bytes(token));
  Fd memfd = Fd::make([] { return ::memfd_create("ronde-memory", MFD_CLOEXEC | MFD_ALLOW_SEALING); });
  if (!memfd.valid()) return system_error("cannot make shared memory (memfd_create)", errno);
  if (!extend_file(memfd.get(), bytes)) {
    return system_error(fmt::format("cannot make library memory of {} bytes", bytes), errno);
  }
  std::byte* base = map_sparse(bytes, memfd.get(), PROT_READ | PROT_WRITE, true);
  if (base == nullptr) return system_error(fmt::format("cannot map library memory of {} bytes", bytes), errno);
  std::shared_ptr<Arena> arena(new Arena(base, bytes, token, std::move(memfd)));
  std::memcpy(base, token.data(), token.size());
  // After this only the mapping above can write.
  if (::fcntl(arena->memfd(), F_ADD_SEALS, kSeals) != 0) return system_error("cannot seal library memory", errno);
  return arena;
}

size_t Arena::share_of_addresses(size_t arenas) {
  rlimit limit{};
  if (::getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return SIZE_MAX;
  return static_cast<size_t>(limit.rlim_cur) / kPartsOfAddresses / arenas;
}

Result<std::shared_ptr<Arena>> Arena::map(int memfd, const Nonce& token, size_t most_bytes) {
  // A file that could shrink would end this process by SIGBUS.
  const int seals = ::fcntl(memfd, F_GET_SEALS);
  struct stat info {};
  if (seals < 0 || (seals & F_SEAL_SHRINK) == 0 || ::fstat(memfd, &info) != 0 ||
      info.st_size < static_cast<off_t>(kPage)) {
    return Status(rondeSystemError, "a peer's library memory is no sealed memory");
  }
  const auto bytes = static_cast<size_t>(info.st_size);
  if (bytes > most_bytes) {
    return Status(rondeSystemError,
                  fmt::format("a peer's library memory takes {} bytes of addresses, of which this process "
                              "spares {} for it (ulimit -v)",
                              bytes, most_bytes));
  }
  std::byte* base = map_sparse(bytes, memfd, PROT_READ, false);
  if (base == nullptr) return system_error(fmt::format("cannot map a peer's library memory of {} bytes", bytes), errno);
  std::shared_ptr<Arena> arena(new Arena(base, bytes, token, Fd()));
  if (std::memcmp(base, token.data(), token.size()) != 0) {
    return Status(rondeSystemError, "a peer's library memory is not the one that it told");
  }
  return arena;
}

std::byte* Arena::begin_use(size_t offset, size_t bytes) {
  std::byte* begin = base_ + offset;
  ::madvise(begin, bytes, MADV_DODUMP);  // as other memory of the program; a kernel that refuses leaves it out
  if (bytes >= kHugePage) ::madvise(begin, bytes, MADV_HUGEPAGE);  // where the system has them for shared memory
  return begin;
}

void Arena::end_use(size_t offset, size_t bytes) {
  std::byte* begin = base_ + offset;
  ::madvise(begin, bytes, MADV_DONTDUMP);
  const int mode = FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE;
  if (::fallocate(memfd_.get(), mode, static_cast<off_t>(offset), static_cast<off_t>(bytes)) == 0) return;
  std::memset(begin, 0, bytes);  // a kernel without holes: the pages stay, what was in them does not
}

Arena::~Arena() {
  // A forked child has inherited its parent's own one, and uses it; of a peer's it has nothing.
  if (made_in_ == fork_guard::generation() && !stays_) ::munmap(base_, bytes_);
}

}  // namespace ronde
