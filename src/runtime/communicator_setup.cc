#include "runtime/communicator_setup.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <numeric>

#include "base/host.h"
#include "base/log.h"
#include "base/source_digest.h"
#include "runtime/link_set.h"
#include "runtime/process.h"
#include "runtime/rank_facts.h"
#include "runtime/transport_choice.h"
#include "topology/cpus.h"
#include "topology/ring_order.h"

namespace ronde {
namespace {

// Looks without finding anything before a rank goes to sleep. While the ranks of a host fit its CPUs spinning costs
// nobody anything, unless other programs or threads of the ranks run there: so it soon yields. A look at a socket costs
// a system call, so fewer of them. Otherwise the others need the CPU.
constexpr WaitPolicy kSpin{200, 100};
constexpr WaitPolicy kSpinOnWires{40, 20};
constexpr WaitPolicy kYield{0, 60};
constexpr WaitPolicy kYieldOnWires{0, 4};

class Setup {
 public:
  Setup(Process& process, CommunicatorOptions options, std::shared_ptr<black_box::Area> black_box,
        std::unique_ptr<Rendezvous> rendezvous, Deadline deadline)
      : process_(process),
        transports_(process.transports()),
        deadline_(deadline),
        memory_(process.shared_memory()),
        rendezvous_(std::move(rendezvous)) {
    if (options.stop) elsewhere_ = options.stop;
    parts_.options = std::move(options);
    parts_.black_box = std::move(black_box);
  }

  Result<CommunicatorParts> run() {
    const Status status = run_steps();
    if (status.ok()) return std::move(parts_);
    // A peer that cannot be reached has most likely failed itself: its own word is the cause, and on its way.
    if (status.code() == rondePeerUnreachable) elsewhere_->wait_for_news();
    // What stopped the others is the cause; what this rank ran into after that is not.
    if (const Status elsewhere = elsewhere_->first(); !elsewhere.ok()) {
      if (elsewhere.code() == rondeAborted) tell_others({rondeRemoteError, "aborted the start-up"});
      return elsewhere;
    }
    tell_others(status);
    return status;
  }

 private:
  // Also those that have started meanwhile.
  void tell_others(const Status& why) {
    rendezvous_->report(why);
    if (!parts_.control) return;
    parts_.control->report(why);
    parts_.control->leave(0);
  }

  Status run_steps() {
    RONDE_TRY(read_request());
    RONDE_TRY(open_endpoints());
    RONDE_TRY(open_control());
    watch_others();
    trace("joined; tells what it is");
    RONDE_TRY(exchange_facts());
    LifeLog(parts_.black_box).enter(black_box::Phase::linking);  // all have come
    RONDE_TRY(make_own_memory());
    trace("finds out whom it reaches");
    RONDE_TRY(reach_and_choose());
    describe_layout();
    RONDE_TRY(check_request());
    trace("makes its links");
    RONDE_TRY(connect());
    RONDE_TRY(connect_control());
    RONDE_TRY(rendezvous_->exchange("ready?", {}, deadline_));
    rendezvous_->leave();  // from here on the control plane watches
    parts_.memory_share = std::move(memory_share_);
    log_choice();
    trace("is ready");
    return {};
  }

  void trace(std::string_view step) const {
    log::trace("rank {} of {}: start-up: {}", parts_.options.rank, parts_.options.nranks, step);
  }

  [[nodiscard]] size_t rank() const { return static_cast<size_t>(parts_.options.rank); }
  [[nodiscard]] size_t nranks() const { return static_cast<size_t>(parts_.options.nranks); }

  // While this rank waits in a transport nobody else listens to the news.
  void watch_others() {
    rendezvous_->watch([elsewhere = elsewhere_](const Status& why) { elsewhere->set(why); });
  }

  Status open_control() {
    ControlOptions options;
    options.job = parts_.options.job;
    options.secret = parts_.options.secret;
    options.rank = static_cast<uint32_t>(parts_.options.rank);
    options.nranks = static_cast<uint32_t>(parts_.options.nranks);
    options.within_process = rendezvous_->within_process();
    options.meeting.socket_ifname = parts_.options.settings.socket_ifname;
    options.meeting.socket_family = family_by_name(parts_.options.settings.socket_family);
    options.meeting.silent_timeout = std::chrono::seconds(parts_.options.settings.silent_timeout_s);
    RONDE_ASSIGN(parts_.control, Control::enter(process_.control(), process_.loop(), options));
    return {};
  }

  Status connect_control() {
    std::vector<ByteView> facts;
    facts.reserve(nranks());
    for (const RankFacts& rank : facts_) facts.push_back(rank.control);
    return parts_.control->connect(facts, deadline_, &elsewhere_->flag());
  }

  Status read_request() {
    const Settings& settings = parts_.options.settings;
    parts_.requested = plan::algorithm_by_name(settings.algorithm).value_or(plan::Algorithm::automatic);
    return {};
  }

  // Transports that the settings allow; one that cannot be opened is left out.
  Status open_endpoints() {
    const Settings& settings = parts_.options.settings;
    const EndpointContext context{parts_.options.job, parts_.options.secret, parts_.options.rank, parts_.options.nranks,
                                  settings,           &process_.loop(),      &elsewhere_->flag()};
    endpoints_.resize(transports_.size());
    settled_.resize(nranks());
    for (size_t i = 0; i < transports_.size(); ++i) {
      const std::string_view name = transports_[i]->name();
      if (settings.transport != "auto" && !list_contains(settings.transport, name)) continue;
      if (name == "shm" && !reserve_memory()) continue;
      auto endpoint = transports_[i]->open(context);
      // A setting that is wrong is not passed over, even if the others would do.
      if (endpoint.status().code() == rondeInvalidUsage) return endpoint.status();
      if (!endpoint.ok()) {
        log::warn("transport {} cannot be used: {}", name, endpoint.status().message());
        continue;
      }
      endpoints_[i] = std::move(*endpoint);
    }
    return {};
  }

  // Shared memory is limited per process: a communicator beyond the limit goes without.
  bool reserve_memory() {
    memory_share_ = memory_.reserve(SegmentLayout::most_bytes(), parts_.options.settings.shm_limit_bytes);
    if (memory_share_) return true;
    if (memory_.refused_first_time()) {
      log::warn(
          "this process has {} bytes of shared memory in use; one more communicator would go beyond "
          "RONDE_SHM_LIMIT={}: it and later ones use other transports",
          memory_.in_use(), parts_.options.settings.shm_limit_bytes);
    }
    return false;
  }

  Status exchange_facts() {
    RankFacts mine{RONDE_VERSION_CODE,
                   std::string(source_digest()),
                   parts_.options.settings.agreed_text(),
                   boot_id(),
                   topology::CpuAllowance::of_this_process(),
                   parts_.control->facts(),
                   {}};
    for (const auto& endpoint : endpoints_) mine.endpoints.push_back(endpoint ? endpoint->facts() : Bytes());
    RONDE_ASSIGN(std::vector<Bytes> all, rendezvous_->exchange("who is there", write_facts(mine), deadline_));
    RONDE_ASSIGN(facts_, read_all_facts(all, parts_.options.rank, transports_.size()));
    number_hosts();
    return {};
  }

  // Ranks with the same running kernel are numbered within it. (Whether they share memory is found out later.)
  void number_hosts() {
    std::map<std::string, int> ranks_of_host;
    for (const RankFacts& facts : facts_) ranks_of_host[facts.boot_id]++;
    for (const auto& [host, ranks] : ranks_of_host) most_local_ranks_ = std::max(most_local_ranks_, ranks);
    std::map<std::string, int> next;
    for (const RankFacts& facts : facts_) host_index_.push_back(next[facts.boot_id]++);
  }

  [[nodiscard]] Peers peers_of(size_t transport) const {
    Peers peers;
    for (size_t other = 0; other < nranks(); ++other) {
      peers.facts.push_back(facts_[other].endpoints[transport]);
      const bool local = facts_[other].boot_id == facts_[rank()].boot_id;
      peers.local_index.push_back(local ? host_index_[other] : -1);
    }
    peers.settled = settled_;
    return peers;
  }

  Status make_own_memory() {
    bool shared = false;  // only an endpoint of another process needs a descriptor
    for (size_t i = 0; i < transports_.size(); ++i) shared |= transports_[i]->name() == "shm" && endpoints_[i];
    RONDE_ASSIGN(parts_.own.segment, Segment::create(SegmentLayout::for_ranks(most_local_ranks_), shared));
    if (parts_.options.counters_start != 0) parts_.own.segment->start_counters_at(parts_.options.counters_start);
    RONDE_ASSIGN(std::unique_ptr<Doorbell> doorbell, make_doorbell());
    parts_.own.doorbell = std::move(doorbell);
    parts_.own.black_box = process_.black_box().for_others();
    if (shares_memory()) parts_.own.arena = process_.library_memory().arena(parts_.options.settings.mem_limit_bytes);
    return {};
  }

  [[nodiscard]] bool shares_memory() const {
    bool shares = false;
    for (size_t i = 0; i < transports_.size(); ++i) shares |= transports_[i]->shares_memory() && endpoints_[i];
    return shares && nranks() > 1;
  }

  // The doorbell's word lies in the segment, which therefore must not go before it.
  Result<std::unique_ptr<Doorbell>> make_doorbell() { return Doorbell::create(&parts_.own.segment->words().sleep); }

  // Which transport joins this rank with each other one.
  Status reach_and_choose() {
    std::vector<std::vector<bool>> reached(transports_.size(), std::vector<bool>(nranks()));
    for (size_t i = 0; i < transports_.size(); ++i) {
      if (endpoints_[i]) {
        RONDE_ASSIGN(reached[i], endpoints_[i]->reach(peers_of(i), parts_.own, deadline_));
      }
      for (size_t other = 0; other < nranks(); ++other) settled_[other] = settled_[other] || reached[i][other];
    }
    RONDE_ASSIGN(const std::vector<Bytes> all,
                 rendezvous_->exchange("who reaches whom", write_reach(reached, unread_arenas()), deadline_));
    RONDE_ASSIGN(choice_, TransportChoice::among(all, transports_.size(), parts_.options.settings.transport));
    parts_.transport_of.resize(nranks());
    parts_.peers.resize(nranks());
    for (size_t other = 0; other < nranks(); ++other) {
      if (other == rank()) continue;
      const size_t transport = choice_.between(rank(), other);
      parts_.transport_of[other] = transports_[transport]->name();
      const PeerMemory* memory = endpoints_[transport]->memory_of(static_cast<int>(other));
      if (memory == nullptr) continue;
      parts_.peers[other] = *memory;
      process_.black_box().keep(std::move(parts_.peers[other].black_box));
    }
    std::vector<bool> shares_memory;
    for (const auto& transport : transports_) shares_memory.push_back(transport->shares_memory());
    node_of_rank_ = choice_.node_of_rank(shares_memory);
    all_share_memory_ = choice_.all_share_memory(shares_memory);
    choose_for_pairs(all, shares_memory);
    if (parts_.own.arena != nullptr) read_arena_ = who_reads_arena_of(rank(), all, transports_.size());
    return {};
  }

  // Of the ranks whose memory is reached, those whose arena cannot be read, or that have none.
  [[nodiscard]] std::vector<uint32_t> unread_arenas() const {
    std::vector<uint32_t> unread;
    for (size_t other = 0; other < nranks(); ++other) {
      for (const auto& endpoint : endpoints_) {
        const PeerMemory* memory = endpoint ? endpoint->memory_of(static_cast<int>(other)) : nullptr;
        if (memory == nullptr) continue;
        if (memory->arena == nullptr) unread.push_back(static_cast<uint32_t>(other));
        break;
      }
    }
    return unread;
  }

  // Too many ranks of a node leave no room for pair links in their segments: those take the best of the other
  // transports. Of what is equal on both ranks of a pair, so that they choose alike.
  void choose_for_pairs(const std::vector<Bytes>& reached, const std::vector<bool>& shares_memory) {
    const bool room = parts_.own.segment->layout().pair.slots > 0;
    PairWays& ways = parts_.pair_ways;
    for (const auto& transport : transports_) ways.names.push_back(transport->name());
    ways.transport_of.resize(nranks());
    std::vector<bool> wires = shares_memory;
    wires.flip();
    for (size_t other = 0; other < nranks(); ++other) {
      if (other == rank()) continue;
      size_t transport = choice_.between(rank(), other);
      if (!room && shares_memory[transport]) {
        // Without one its endpoint says what is wrong, to who asks for the link.
        transport = best_transport(reached, rank(), other, wires).value_or(transport);
      }
      ways.transport_of[other] = static_cast<uint8_t>(transport);
    }
  }

  void describe_layout() {
    const SegmentLayout& segment = parts_.own.segment->layout();
    plan::Layout& layout = parts_.layout;
    layout.nranks = parts_.options.nranks;
    layout.windows = nranks() > 1 && parts_.options.nranks <= plan::kMaxWindowRanks && all_share_memory_;
    layout.line_bytes = OperationLine::kPayloadBytes;
    layout.one_shot_bytes = segment.one_shot_bytes;
    layout.piece_bytes = segment.piece_bytes;
    // Links of different transports must cut alike: the ring's slots are the measure of all.
    layout.ring_slots = static_cast<int>(kLinkSlots);
    layout.ring_slice_bytes = segment.ring.payload_bytes;
    layout.pair_slice_bytes = segment.pair.slots > 0 ? std::min(segment.pair.payload_bytes, segment.ring.payload_bytes)
                                                     : segment.ring.payload_bytes;
    set_wait_policy();
    set_windows();
  }

  void set_wait_policy() {
    const std::string& spin = parts_.options.settings.spin;
    std::vector<topology::CpuAllowance> local;
    for (const RankFacts& facts : facts_) {
      if (facts.boot_id == facts_[rank()].boot_id) local.push_back(facts.cpus);
    }
    const bool fits = static_cast<int>(local.size()) <= topology::usable_cpus(local);
    const bool spins = spin == "auto" ? fits : spin == "on";
    if (spins) {
      parts_.policy = parts_.layout.windows ? kSpin : kSpinOnWires;
    } else {
      parts_.policy = parts_.layout.windows ? kYield : kYieldOnWires;
    }
    if (spin == "off") parts_.policy = {};
  }

  void set_windows() {
    if (!parts_.layout.windows) return;
    parts_.windows.pieces = parts_.options.counters_start;
    const bool all_read = std::find(read_arena_.begin(), read_arena_.end(), false) == read_arena_.end();
    if (all_read) parts_.windows.arena = parts_.own.arena.get();
    for (size_t other = 0; other < nranks(); ++other) {
      const PeerMemory& peer = parts_.peers[other];
      if (other == rank()) {
        parts_.windows.peers.push_back({parts_.own.segment.get(), {}});
      } else {
        parts_.windows.peers.push_back({peer.segment.get(),
                                        Ringer(&peer.segment->words().sleep, peer.event_fd, parts_.options.rank),
                                        peer.arena.get()});
      }
    }
  }

  Status check_request() {
    const plan::Algorithm asked = parts_.requested;
    const bool needs_windows = asked == plan::Algorithm::two_shot || asked == plan::Algorithm::one_shot;
    if (needs_windows && nranks() > 1 && !parts_.layout.windows) {
      return {rondeInvalidUsage,
              fmt::format("RONDE_ALGO={} needs at most {} ranks that all share memory; use auto or ring",
                          plan::algorithm_name(asked), plan::kMaxWindowRanks)};
    }
    if (asked == plan::Algorithm::star && parts_.options.nranks > plan::kMaxStarRanks) {
      return {rondeInvalidUsage,
              fmt::format("RONDE_ALGO=star is for at most {} ranks; use auto or ring", plan::kMaxStarRanks)};
    }
    return {};
  }

  Status connect() {
    if (nranks() == 1) return {};
    parts_.ring = empty_link_set(topology::ring_order(node_of_rank_), parts_.options.rank);
    std::vector<int> in_rank_order(nranks());
    std::iota(in_rank_order.begin(), in_rank_order.end(), 0);
    parts_.by_rank = empty_link_set(std::move(in_rank_order), parts_.options.rank);
    const std::vector<LinkWish> wishes = links_wanted(parts_.ring);
    for (size_t i = 0; i < transports_.size(); ++i) RONDE_TRY(connect_transport(i, wishes));
    for (const MadeLink& link : parts_.links) enter(parts_.ring, link);
    parts_.pair_ways.endpoints = std::move(endpoints_);
    return {};
  }

  Status connect_transport(size_t transport, const std::vector<LinkWish>& wishes) {
    std::vector<LinkWish> mine;
    for (const LinkWish& wish : wishes) {
      if (choice_.between(rank(), static_cast<size_t>(wish.peer)) == transport) mine.push_back(wish);
    }
    std::vector<bool> pairs(nranks());
    for (size_t other = 0; other < nranks(); ++other)
      pairs[other] = other != rank() && parts_.pair_ways.transport_of[other] == transport;
    const bool joins_pairs = std::find(pairs.begin(), pairs.end(), true) != pairs.end();
    if (!mine.empty() || joins_pairs) {
      Peers peers = peers_of(transport);
      peers.pairs = std::move(pairs);
      peers.read_arena = read_arena_;
      RONDE_ASSIGN(std::vector<MadeLink> made, endpoints_[transport]->connect(mine, peers, parts_.own, deadline_));
      std::move(made.begin(), made.end(), std::back_inserter(parts_.links));
    }
    if (!joins_pairs) endpoints_[transport].reset();
    return {};
  }

  void log_choice() {
    if (nranks() == 1 || parts_.options.rank != 0) return;
    std::map<std::string_view, int> pairs;
    for (size_t other = 1; other < nranks(); ++other) pairs[parts_.transport_of[other]]++;
    std::string text;
    for (const auto& [name, count] : pairs) text += fmt::format(" {} x {}", count, name);
    log::info("rank 0 of {}: {}; transports to the others:{}; ring order {}", nranks(),
              parts_.layout.windows ? "all ranks share memory" : "not all ranks share memory", text,
              fmt::join(parts_.ring.order, " "));
  }

  // Why start-up has to end: a failure of another rank, or an abort from outside. Outlives this in the watcher.
  std::shared_ptr<FailureState> elsewhere_ = std::make_shared<FailureState>();
  Process& process_;
  std::span<const std::unique_ptr<Transport>> transports_;
  Deadline deadline_;
  SharedMemoryBudget& memory_;
  std::unique_ptr<Rendezvous> rendezvous_;
  std::shared_ptr<const void> memory_share_;
  CommunicatorParts parts_;
  std::vector<std::unique_ptr<Endpoint>> endpoints_;  // by transport; null: not used
  std::vector<RankFacts> facts_;                      // by rank
  std::vector<int> host_index_;                       // by rank: number within its host
  std::vector<bool> settled_;                         // by rank: reached by one of the transports tried so far
  int most_local_ranks_ = 1;
  TransportChoice choice_;
  std::vector<int> node_of_rank_;
  bool all_share_memory_ = false;
  std::vector<bool> read_arena_;  // by rank: it can read this process's arena; empty: there is none
};

}  // namespace

Result<CommunicatorParts> set_up_communicator(Process& process, CommunicatorOptions options,
                                              std::shared_ptr<black_box::Area> black_box,
                                              std::unique_ptr<Rendezvous> rendezvous, Deadline deadline) {
  return Setup(process, std::move(options), std::move(black_box), std::move(rendezvous), deadline).run();
}

}  // namespace ronde
