#include "runtime/make_communicator.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "runtime/life_log.h"
#include "runtime/process.h"

namespace ronde {
namespace {

// From here on it is in the black box, also if it fails to start.
Result<std::unique_ptr<Communicator>> start_rank(Process& process, const CommunicatorOptions& options,
                                                 const std::function<Result<std::unique_ptr<Rendezvous>>()>& meet,
                                                 Deadline deadline) {
  const auto black_box = process.black_box().area_for(options.job, static_cast<uint32_t>(options.rank),
                                                      static_cast<uint32_t>(options.nranks), options.name);
  auto rendezvous = meet();
  auto made = rendezvous.ok() ? Communicator::create(process, options, black_box, std::move(*rendezvous), deadline)
                              : Result<std::unique_ptr<Communicator>>(rendezvous.status());
  if (!made.ok()) LifeLog(black_box).fail(made.status());
  return made;
}

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
  const auto meet = [&] { return join(process.loop(), id, options.nranks, options.rank, meeting, deadline); };
  return start_rank(process, options, meet, deadline);
}

Result<std::unique_ptr<Communicator>> make_rank(Process& process, CommunicatorOptions options,
                                                std::unique_ptr<Rendezvous> rendezvous, Deadline deadline) {
  return start_rank(
      process, options, [&] { return Result(std::move(rendezvous)); }, deadline);
}

Result<std::unique_ptr<Communicator>> make_successor(Process& process, const Predecessor& before,
                                                     const std::set<uint32_t>& without, CommunicatorOptions options,
                                                     RendezvousOptions meeting, Deadline deadline) {
  const std::shared_ptr<FailureState> stop = options.stop;
  before.turn->begin(stop);
  meeting.stop = &stop->flag();
  StartAgreement everywhere(before, without);
  const Result<Succession> agreed = agree_on_succession(process.loop(), before, without, meeting, deadline);
  const auto refused = [&] { return stop->is_set() ? stop->first() : agreed.status(); };
  auto made = agreed.ok() ? start_successor(process, before, *agreed, std::move(options), std::move(meeting), deadline)
                          : Result<std::unique_ptr<Communicator>>(refused());
  if (!made.ok()) {
    everywhere.refuse(made.status());
  } else if (const Status all = everywhere.reach(agreed->members, deadline, &stop->flag()); !all.ok()) {
    made = stop->is_set() ? stop->first() : all;
  } else {
    for (const auto& root : agreed->opened) root->keep();
  }
  before.turn->end();
  return made;
}

}  // namespace ronde
