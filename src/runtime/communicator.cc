#include "runtime/communicator.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/log.h"
#include "runtime/communicator_setup.h"
#include "runtime/one_rank.h"
#include "runtime/process.h"

namespace ronde {

Result<std::unique_ptr<Communicator>> Communicator::create(Process& process, CommunicatorOptions options,
                                                           std::shared_ptr<black_box::Area> black_box,
                                                           std::unique_ptr<Rendezvous> rendezvous, Deadline deadline) {
  RONDE_ASSIGN(CommunicatorParts parts,
               set_up_communicator(process, std::move(options), std::move(black_box), std::move(rendezvous), deadline));
  return std::unique_ptr<Communicator>(new Communicator(std::move(parts)));
}

Communicator::Communicator(CommunicatorParts parts)
    : parts_(std::move(parts)),
      life_(parts_.black_box),
      failure_(life_),
      agreement_(*parts_.control, failure_, CallLog(parts_.black_box, parts_.options.counters_start),
                 parts_.options.rank),
      context_{parts_.options.rank,
               parts_.options.nranks,
               parts_.options.name,
               &parts_.options.settings,
               &failure_,
               &agreement_,
               &parts_.own.segment->words().withdrawn},
      pairs_(std::move(parts_.pair_ways), failure_.flag()),
      exchange_(pairs_, context_.nranks, parts_.options.counters_start),
      next_sequence_(parts_.options.counters_start + 1),  // lines hold the start: no operation has that number
      reproducible_(parts_.options.settings.reproducible != 0),
      float32_partials_(reproducible_ || parts_.options.settings.accumulate == "float32") {
  parts_.by_rank.pairs = &pairs_;
  failure_.wakes(parts_.own.doorbell.get());
  life_.enter(black_box::Phase::working);
}

Communicator::~Communicator() {
  failure_.wakes(nullptr);
  life_.enter(black_box::Phase::finalized);
  agreement_.leave();
}

Status Communicator::refusal() const {
  if (failure_.is_set()) return failure_.first();
  if (finalized()) return {rondeInvalidUsage, "the communicator was finalized: no operation can start any more"};
  return {};
}

namespace {

LinkSchedule ring_schedule(const OperationArgs& args, const LinkSet& ring) {
  const auto nranks = static_cast<int>(ring.order.size());
  const auto root = static_cast<int>(std::find(ring.order.begin(), ring.order.end(), args.root) - ring.order.begin());
  switch (args.what) {
    case Collective::reduce_scatter: return schedule::RingReduceScatter(nranks, ring.position);
    case Collective::all_gather: return schedule::RingAllGather(nranks, ring.position);
    case Collective::broadcast: return schedule::ChainBroadcast(nranks, ring.position, root);
    case Collective::reduce: return schedule::ChainReduce(nranks, ring.position, root);
    default: return schedule::Ring(nranks, ring.position);
  }
}

LinkSchedule star_schedule(const OperationArgs& args, const LinkSet& by_rank) {
  const auto nranks = static_cast<int>(by_rank.order.size());
  switch (args.what) {
    case Collective::reduce: return schedule::DirectReduce(nranks, by_rank.position, args.root);
    case Collective::reduce_scatter: return schedule::ScatteredReduce(nranks, by_rank.position);
    default: return schedule::Star(nranks, by_rank.position);
  }
}

plan::Message message_of(const OperationArgs& args, int nranks, bool ordered) {
  const size_t size = element_bytes(args.type);
  return {args.what, longest_block(args, nranks) * size, all_blocks(args, nranks) * size, ordered};
}

}  // namespace

// Makes the task of an operation, on the stack of the caller or inside a holder, and hands it to `use`.
template <typename Use>
auto Communicator::with_task(const OperationArgs& call, Use use) {
  const OperationArgs& args = call.spans == nullptr ? call : packed(call);
  const uint32_t sequence = take_number(args);
  const Reduction reduction = reduction_for(args);
  const plan::Choice choice =
      plan::choose(parts_.layout, parts_.requested, message_of(args, context_.nranks, is_ordered(args, reduction)));
  if (log::enabled(rondeLogTrace)) {
    log::trace("rank {} of {}: {} by {}", context_.rank, context_.nranks, describe(args, sequence),
               plan::algorithm_name(choice.algorithm));
  }
  switch (choice.algorithm) {
    case plan::Algorithm::line:
      return use.template operator()<LineTask>(context_, args, sequence, reduction, parts_.windows);
    case plan::Algorithm::one_shot:
      return use.template operator()<WindowTask<schedule::OneShot>>(context_, args, sequence, reduction,
                                                                    choice.cut_bytes, parts_.windows);
    case plan::Algorithm::two_shot:
      return use.template operator()<WindowTask<schedule::TwoShot>>(context_, args, sequence, reduction,
                                                                    choice.cut_bytes, parts_.windows);
    case plan::Algorithm::direct:
      if (args.what == Collective::reduce_scatter) {
        return use.template operator()<WindowTask<schedule::DirectReduceScatter>>(context_, args, sequence, reduction,
                                                                                  choice.cut_bytes, parts_.windows);
      }
      return use.template operator()<WindowTask<schedule::DirectAllGather>>(context_, args, sequence, reduction,
                                                                            choice.cut_bytes, parts_.windows);
    case plan::Algorithm::exchange:
      return use.template operator()<ExchangeTask>(context_, args, sequence, choice, exchange_);
    case plan::Algorithm::star:
      return use.template operator()<LinkTask>(context_, args, sequence, reduction, choice,
                                               star_schedule(args, parts_.by_rank), parts_.by_rank);
    case plan::Algorithm::chain:
      if (args.what == Collective::all_reduce) {
        return use.template operator()<LinkTask>(context_, args, sequence, reduction, choice,
                                                 schedule::OrderedChain(context_.nranks, parts_.by_rank.position),
                                                 parts_.by_rank);
      }
      [[fallthrough]];
    default:
      return use.template operator()<LinkTask>(context_, args, sequence, reduction, choice,
                                               ring_schedule(args, parts_.ring), parts_.ring);
  }
}

// The buffers of the call behind each other, in memory that is there for that.
const OperationArgs& Communicator::packed(const OperationArgs& call) {
  packed_args_ = call;
  packing_.resize(std::max(packing_.size(), call.bytes()));
  std::byte* at = packing_.data();
  for (const Span& span : *call.spans) {
    const size_t bytes = span.count * element_bytes(call.type);
    copy_bytes(at, span.send, bytes, false);
    at += bytes;
  }
  packed_args_.send = packed_args_.receive = packing_.data();
  return packed_args_;
}

Status Communicator::run(const OperationArgs& args) {
  RONDE_TRY(refusal());
  RONDE_TRY(check_possible(args));
  if (context_.nranks == 1) return run_alone(args);
  return with_task(args, [this]<typename TaskType, typename... Args>(Args&&... task_args) {
    TaskType task(std::forward<Args>(task_args)...);
    run_to_end(waiter_for(task));
    return task.status();
  });
}

Communicator::Started Communicator::start(const OperationArgs& args) {
  Started started;
  started.status = refusal();
  if (started.status.ok()) started.status = check_possible(args);
  if (!started.status.ok()) return started;
  if (context_.nranks == 1) {
    started.status = run_alone(args);
    return started;
  }
  started.task = with_task(args, []<typename TaskType, typename... Args>(Args&&... task_args) {
    return std::unique_ptr<OperationTask>(std::make_unique<TaskType>(std::forward<Args>(task_args)...));
  });
  started.waiter = waiter_for(*started.task);
  return started;
}

Reduction Communicator::reduction_for(const OperationArgs& args) const {
  Reduction reduction = reduction_of(args, context_.nranks, float32_partials_);
  // Which ranks see a product rounded depends on the way that it goes, unless all do.
  reduction.rounds_products = reproducible_ && reduction.has_own_factor();
  return reduction;
}

bool Communicator::is_ordered(const OperationArgs& args, const Reduction& reduction) const {
  return schedule::reduces(args.what) && (reproducible_ || reduction.is_ordered());
}

// One rank combines the inputs of all in one pass.
Status Communicator::check_possible(const OperationArgs& args) const {
  if (context_.nranks <= plan::kMaxStarRanks || !schedule::reduces(args.what) || args.what == Collective::all_reduce)
    return {};
  if (!is_ordered(args, reduction_for(args))) return {};
  return {
      rondeInvalidUsage,
      fmt::format("{}: in the order of ranks (RONDE_REPRODUCIBLE, or a reduction that is not commutative) it is for "
                  "at most {} ranks; use AllReduce",
                  describe(args), plan::kMaxStarRanks)};
}

uint32_t Communicator::take_number(const OperationArgs& args) {
  return is_numbered(args) ? next_sequence_++ : next_messages_++;
}

Status Communicator::run_alone(const OperationArgs& args) {
  const uint32_t sequence = take_number(args);
  black_box::OperationRecord& record =
      agreement_.log().begin(args, sequence, digest_of(args), plan::Algorithm::automatic);
  run_on_one_rank(args);
  CallLog::end(record, black_box::OperationState::ended);
  return {};
}

Status Communicator::finalize() {
  finalized_.set();
  life_.enter(black_box::Phase::finalized);
  agreement_.leave();
  return failure_.first();
}

void Communicator::abort() {
  const Status why(rondeAborted,
                   fmt::format("rank {} of {}: the communicator was aborted on this rank", rank(), nranks()));
  std::shared_ptr<ShrinkTurn> turn;
  std::vector<std::weak_ptr<FailureState>> starts;
  {
    const std::scoped_lock lock(turn_mutex_);
    turn = turn_.lock();
    starts = starts_;
  }
  if (turn != nullptr) turn->give_up(why);
  const bool is_first = failure_.set(why);
  for (const auto& start : starts) {
    if (const auto given_up = start.lock()) given_up->set(why);
  }
  if (!is_first) return;
  agreement_.report(Status(rondeRemoteError, fmt::format("rank {} aborted the communicator", rank())));
}

void Communicator::gives_up(std::weak_ptr<FailureState> start) {
  const std::scoped_lock lock(turn_mutex_);
  std::erase_if(starts_, [](const auto& one) { return one.expired(); });
  starts_.push_back(std::move(start));
}

void Communicator::revoke() {
  if (!failure_.set(
          {rondeRevoked, fmt::format("rank {} of {}: the communicator was revoked on this rank", rank(), nranks())}))
    return;
  agreement_.report(Status(rondeRevoked, "revoked the communicator"));
}

Result<Predecessor> Communicator::begin_succession() {
  if (shrinks_->exchange(true))
    return Status(rondeInvalidUsage,
                  "a shrink of this communicator is in progress: wait for its end, or abort the new one");
  auto turn = std::make_shared<ShrinkTurn>(shrinks_, life_);
  {
    const std::scoped_lock lock(turn_mutex_);
    turn_ = turn;
  }
  return Predecessor{parts_.control, parts_.options.secret, static_cast<uint32_t>(parts_.options.rank),
                     static_cast<uint32_t>(nranks()), std::move(turn)};
}

std::vector<TransportTraffic> Communicator::traffic() const {
  std::vector<TransportTraffic> all;
  const auto entry = [&all](std::string_view transport) -> TransportTraffic& {
    const auto found =
        std::find_if(all.begin(), all.end(), [&](const TransportTraffic& t) { return t.transport == transport; });
    return found != all.end() ? *found : all.emplace_back(TransportTraffic{transport, {}, {}});
  };
  const auto add = [](PortTraffic& sum, const PortTraffic& more) {
    sum.payload += more.payload;
    sum.heads += more.heads;
    sum.staged += more.staged;
  };
  const auto add_link = [&](std::string_view transport, const MadeLink& link) {
    if (link.send) add(entry(transport).sent, link.send->traffic());
    if (link.receive) add(entry(transport).received, link.receive->traffic());
  };
  for (const MadeLink& link : parts_.links) {
    const int peer = link.send ? link.send->peer() : link.receive->peer();
    add_link(parts_.transport_of[static_cast<size_t>(peer)], link);
  }
  pairs_.for_each(add_link);
  if (parts_.layout.windows) {
    // Windows are read by all ranks of the node alike; they are counted with the transport of the first peer.
    const size_t peer = context_.rank == 0 ? 1 : 0;
    TransportTraffic& traffic = entry(parts_.transport_of[peer]);
    add(traffic.sent, {parts_.windows.sent, parts_.windows.lines, parts_.windows.staged});
    add(traffic.received, {parts_.windows.received, parts_.windows.lines, 0});
  }
  return all;
}

const Arena* Communicator::arena_of(int rank) const {
  if (rank == context_.rank) return parts_.own.arena.get();
  return parts_.peers.empty() ? nullptr : parts_.peers[static_cast<size_t>(rank)].arena.get();
}

MemoryUse Communicator::memory_use() const {
  MemoryUse use;
  use.segment = parts_.own.segment->layout().total;
  use.touched = parts_.own.segment->touched_bytes();
  use.packing = packing_.capacity();
  const auto add_link = [&use](std::string_view, const MadeLink& link) {
    if (link.send) use.wires += link.send->memory_bytes();
    if (link.receive) use.wires += link.receive->memory_bytes();
  };
  for (const MadeLink& link : parts_.links) add_link({}, link);
  pairs_.for_each(add_link);
  return use;
}

}  // namespace ronde
