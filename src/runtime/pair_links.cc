#include "runtime/pair_links.h"

#include <utility>

namespace ronde {

PairLinks::PairLinks(PairWays ways, const OnceFlag& failed)
    : failed_(failed), ways_(std::move(ways)), ends_(ways_.transport_of.size()) {}

Result<SendPort*> PairLinks::send_to(int rank) {
  End& end = ends_with(rank).out;
  if (end.link.send == nullptr) RONDE_TRY(make(end, rank, true));
  return end.link.send.get();
}

Result<ReceivePort*> PairLinks::receive_from(int rank) {
  End& end = ends_with(rank).in;
  if (end.link.receive == nullptr) RONDE_TRY(make(end, rank, false));
  return end.link.receive.get();
}

PairLinks::Ends& PairLinks::ends_with(int rank) {
  std::unique_ptr<Ends>& ends = ends_[static_cast<size_t>(rank)];
  if (ends == nullptr) ends = std::make_unique<Ends>();
  return *ends;
}

// Ok: it is there, or on its way.
Status PairLinks::make(End& end, int rank, bool outgoing) {
  RONDE_TRY(end.error);
  Endpoint& endpoint = *ways_.endpoints[ways_.transport_of[static_cast<size_t>(rank)]];
  const LinkWish wish{LinkKind::pair, outgoing, rank};
  if (!std::exchange(end.requested, true)) endpoint.request(wish, &failed_);
  std::optional<Result<MadeLink>> made = endpoint.take(wish);
  if (!made) return {};
  end.error = made->status();
  if (made->ok()) end.link = std::move(**made);
  return end.error;
}

}  // namespace ronde
