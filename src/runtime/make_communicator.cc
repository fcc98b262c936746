#include "runtime/make_communicator.h"

#include <algorithm>
#include <utility>

#include "runtime/process.h"

namespace ronde {
namespace {

constexpr Milliseconds kNewsLimit{300};

// Who dies from now on fails the new communicator, on all.
Result<std::unique_ptr<Communicator>> start_successor(Process& process, const Predecessor& before,
                                                      const Succession& succession, CommunicatorOptions options,
                                                      RendezvousOptions meeting, Deadline deadline) {
  options.nranks = static_cast<int>(succession.members.size());
  options.rank = succession.rank;
  const std::shared_ptr<FailureState> stop = options.stop;
  before.control->watch_losses([stop, members = succession.members](uint32_t rank) {
    if (std::binary_search(members.begin(), members.end(), rank)) stop->set(ended_meanwhile(rank));
  });
  auto made = make_rank(process, succession.id, std::move(options), std::move(meeting), deadline);
  // What this rank ran into may come of a death that it has not heard of yet.
  if (!made.ok()) stop->wait_until_set(kNewsLimit);
  before.control->watch_losses(nullptr);
  if (!made.ok() && stop->is_set()) return stop->first();
  return made;
}

}  // namespace

Result<std::unique_ptr<Communicator>> make_rank(Process& process, const UniqueId& id, CommunicatorOptions options,
                                                RendezvousOptions meeting, Deadline deadline) {
  options.job = id.job;
  options.secret = id.secret;
  meeting.stop = &options.stop->flag();
  meeting.why_stopped = [stop = options.stop] { return stop->first(); };
  RONDE_ASSIGN(std::unique_ptr<Rendezvous> rendezvous,
               join(process.loop(), id, options.nranks, options.rank, meeting, deadline));
  return Communicator::create(process, std::move(options), std::move(rendezvous), deadline);
}

Result<std::unique_ptr<Communicator>> make_successor(Process& process, const Predecessor& before,
                                                     const std::set<uint32_t>& without, CommunicatorOptions options,
                                                     const RendezvousOptions& meeting, Deadline deadline) {
  const std::shared_ptr<FailureState> stop = options.stop;
  RendezvousOptions stoppable = meeting;
  stoppable.stop = &stop->flag();
  const Result<Succession> agreed = agree_on_succession(process.loop(), before, without, stoppable, deadline);
  auto made = agreed.ok() ? start_successor(process, before, *agreed, std::move(options), meeting, deadline)
                          : Result<std::unique_ptr<Communicator>>(agreed.status());
  const Status all = agree_on_start(before, without, agreed, made.status(), deadline, &stop->flag());
  if (!all.ok()) made = all;
  before.turn->end();
  return made;
}

}  // namespace ronde
