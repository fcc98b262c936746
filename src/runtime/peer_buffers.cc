#include "runtime/peer_buffers.h"

#include <fmt/format.h>

#include "runtime/communicator.h"
#include "runtime/process.h"

namespace ronde {
namespace {

// What a rank tells of its buffer.
struct Told {
  uint64_t bytes = 0;  // 0: it is not what the library gave out
  Place place = kNoPlace;
};

Result<std::vector<Told>> tell_all(Communicator& communicator, const Told& mine) {
  std::vector<Told> all(static_cast<size_t>(communicator.nranks()));
  OperationArgs args{&mine, all.data(), sizeof mine, rondeUint8, rondeSum, Collective::all_gather};
  args.purpose = Purpose::window;
  RONDE_TRY(communicator.run(args));
  return all;
}

}  // namespace

Result<std::unique_ptr<PeerBuffers>> PeerBuffers::make(Process& process, Communicator& communicator, void* begin,
                                                       size_t bytes) {
  std::unique_ptr<PeerBuffers> buffers(new PeerBuffers(bytes, communicator.nranks()));
  auto held = process.library_memory().hold(begin, bytes);
  const Arena* own = communicator.arena_of(communicator.rank());
  const bool is_whole = held.ok();
  const Told mine{is_whole ? bytes : 0, is_whole && own != nullptr ? own->place_of(begin, bytes) : kNoPlace};
  RONDE_ASSIGN(const std::vector<Told> all, tell_all(communicator, mine));
  RONDE_TRY(held.status());
  buffers->held_ = std::move(*held);
  for (size_t rank = 0; rank < all.size(); ++rank) {
    if (all[rank].bytes == 0) {
      return Status(rondeInvalidArgument,
                    fmt::format("rank {} gives a size beyond the end of what rondeMemAlloc gave it", rank));
    }
    if (all[rank].bytes != all[0].bytes) {
      return Status(rondeInvalidArgument,
                    fmt::format("rank 0 gives a buffer of {} bytes, rank {} one of {} bytes: they "
                                "must be equal",
                                all[0].bytes, rank, all[rank].bytes));
    }
    const Arena* arena = communicator.arena_of(static_cast<int>(rank));
    if (arena != nullptr) buffers->begin_[rank] = arena->at(all[rank].place, bytes);
  }
  buffers->begin_[static_cast<size_t>(communicator.rank())] = static_cast<const std::byte*>(begin);
  return buffers;
}

}  // namespace ronde
