#include "runtime/make_communicator.h"

#include <algorithm>
#include <utility>

#include "runtime/process.h"

namespace ronde {
namespace {

// Who dies from now on fails the new communicator, on all.
Result<std::unique_ptr<Communicator>> start_successor(Process& process, const Predecessor& before,
                                                      const Succession& succession, CommunicatorOptions options,
                                                      RendezvousOptions meeting, Deadline deadline) {
  options.nranks = static_cast<int>(succession.members.size());
  options.rank = succession.rank;
  const std::shared_ptr<FailureState> stop = options.stop;
  const auto lost = std::make_shared<FailureState>();
  before.control->watch_losses([stop, lost, members = succession.members](uint32_t rank) {
    if (!std::binary_search(members.begin(), members.end(), rank)) return;
    lost->set(ended_meanwhile(rank));  // beside stop, where the start's own news of that death may have come first
    stop->set(ended_meanwhile(rank));
  });
  auto made = make_rank(process, succession.id, std::move(options), std::move(meeting), deadline);
  // What this rank ran into may come of a death that it has not heard of yet.
  if (!made.ok() && made.status().code() != rondeAborted) lost->wait_for_news();
  before.control->watch_losses(nullptr);
  if (lost->is_set()) return lost->first();
  if (stop->is_set()) return stop->first();
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
  before.turn->begin(stop);
  RendezvousOptions stoppable = meeting;
  stoppable.stop = &stop->flag();
  StartAgreement everywhere(before, without);
  const Result<Succession> agreed = agree_on_succession(process.loop(), before, without, stoppable, deadline);
  const auto refused = [&] { return stop->is_set() ? stop->first() : agreed.status(); };
  auto made = agreed.ok() ? start_successor(process, before, *agreed, std::move(options), meeting, deadline)
                          : Result<std::unique_ptr<Communicator>>(refused());
  if (!made.ok()) {
    everywhere.refuse(made.status());
  } else if (const Status all = everywhere.reach(agreed->members, deadline, &stop->flag()); !all.ok()) {
    made = stop->is_set() ? stop->first() : all;
  }
  before.turn->end();
  return made;
}

}  // namespace ronde
