#include "support/control_world.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <deque>
#include <variant>

#include "control/graph.h"

namespace ronde::testing {
namespace {

constexpr double kDetection = 2.0;  // what all ranks know by then
constexpr double kSilence = 15.0;
constexpr size_t kMostEvents = 5'000'000;
constexpr double kLastSecond = 600;
const Status kEnd(rondePeerLost, "ended without saying goodbye");
const Status kSilent(rondePeerUnreachable, "is silent: its host has not acknowledged anything for 10 s");

Secret key_of(uint32_t from, uint32_t to) {
  Secret key{};
  key[0] = static_cast<std::byte>(std::min(from, to));
  key[1] = static_cast<std::byte>(std::max(from, to));
  return key;
}

}  // namespace

// One direction of a connection.
struct ControlWorld::Pipe {
  Pipe(uint32_t from, uint32_t to, size_t most_bytes)
      : sealer(key_of(from, to), direction(from, to)), opener(key_of(from, to), direction(from, to), most_bytes) {}
  static Direction direction(uint32_t from, uint32_t to) {
    return from < to ? Direction::to_server : Direction::to_client;
  }

  FrameSealer sealer;
  FrameOpener opener;
  Bytes plain;                                           // without real frames: what has come of a message
  std::deque<std::variant<Bytes, Status>> on_their_way;  // a status: the end
  Time hung_until{};
  bool open = true;
};

struct ControlWorld::Rank {
  std::unique_ptr<ControlMachine> machine;
  bool dead = false;
  bool left = false;
  bool isolated = false;
  bool culprit = false;  // and takes part no more
  bool wants_to_leave = false;
  Time stopped_until{};
  Time last_stop_end{};
  uint32_t begun = 0;
  uint32_t ended = 0;
  bool told_of_wait = false;
  double next_compute = 0;
  std::optional<LateNote> note;
  std::optional<Status> failure;
  Time failed_at{};
  Time timer{};
};

ControlWorld::ControlWorld(const ControlWorldOptions& options) : options_(options), random_(options.seed) {
  static constexpr uint32_t kSizes[] = {2, 3, 4, 4, 5, 6, 7, 8, 8, 9, 12, 16, 16, 24, 33, 64};
  nranks_ = options.nranks != 0 ? options.nranks : kSizes[number(std::size(kSizes))];
  deaf_ = number(nranks_);
  for (uint32_t rank = 0; rank < nranks_; ++rank) {
    auto state = std::make_unique<Rank>();
    state->machine = std::make_unique<ControlMachine>(
        rank, nranks_, [](uint32_t about) { return fmt::format("rank {}", about); },
        [this, rank](uint32_t sequence) {
          const Rank& self = *ranks_[rank];
          Whereabouts here{self.begun, std::nullopt};
          if (sequence >= 1 && sequence <= self.begun) here.call = call_of(rank, sequence);
          return here;
        });
    ranks_.push_back(std::move(state));
  }
  for (uint32_t rank = 0; rank < nranks_; ++rank) {
    for (const uint32_t peer : control_neighbours(rank, nranks_)) {
      ranks_[rank]->machine->linked(peer);
      pipes_[{rank, peer}] = std::make_unique<Pipe>(rank, peer, most_control_bytes(nranks_));
    }
  }
  for (uint32_t rank = 0; rank < nranks_; ++rank) in(real(0, 0.1), [this, rank] { begin_call(rank); });
  plan_faults();
}

ControlWorld::~ControlWorld() = default;

void ControlWorld::run() {
  for (size_t count = 0; !events_.empty(); ++count) {
    if (count > kMostEvents) return violated("the world does not come to rest");
    const auto next = events_.begin();
    now_ = next->first;
    if (clock() > kLastSecond) break;  // who has not heard by now never will
    const std::function<void()> what = std::move(next->second);
    events_.erase(next);
    what();
  }
  check_end();
}

void ControlWorld::note(const std::string& what) { history_.push_back(fmt::format("{:9.4f} {}", clock(), what)); }
void ControlWorld::violated(const std::string& what) {
  violations_.push_back(fmt::format("seed {}, {} ranks, {:.4f} s: {}", options_.seed, nranks_, clock(), what));
}

// ---- Connections ---------------------------------------------------------------------------------------------------

void ControlWorld::send(uint32_t from, uint32_t to, const SharedMessage& message) {
  Pipe& pipe = *pipes_.at({from, to});
  if (!pipe.open || pipe.hung_until == Time::max()) return;
  Bytes bytes;
  if (options_.real_frames) {
    const Frame frame = pipe.sealer.seal(message);
    bytes.assign(frame.head.begin(), frame.head.end());
    bytes.insert(bytes.end(), message->bytes.begin(), message->bytes.end());
    bytes.insert(bytes.end(), frame.mac.begin(), frame.mac.end());
  } else {
    Writer writer;
    writer.bytes(message->bytes);
    bytes = writer.take();
  }
  const size_t pieces = one_in(4) ? 1 + number(3) : 1;
  for (size_t i = 0; i < pieces; ++i) {
    const auto begin = static_cast<ptrdiff_t>(bytes.size() * i / pieces);
    const auto end = static_cast<ptrdiff_t>(bytes.size() * (i + 1) / pieces);
    pipe.on_their_way.emplace_back(Bytes(bytes.begin() + begin, bytes.begin() + end));
    in(one_in(20) ? real(0.001, 0.05) : real(0.00005, 0.002), [this, from, to] { deliver(from, to); });
  }
}

// What is on its way arrives before it.
void ControlWorld::close_pipe(uint32_t from, uint32_t to, const Status& end) {
  pipes_.at({from, to})->on_their_way.emplace_back(end);
  in(real(0.00005, 0.01), [this, from, to] { deliver(from, to); });
}

// The next piece, whichever was to arrive now: bytes keep their order.
void ControlWorld::deliver(uint32_t from, uint32_t to) {
  when_it_runs(to, [this, from, to] {
    Pipe& pipe = *pipes_.at({from, to});
    if (!pipe.open || pipe.hung_until == Time::max()) return;
    if (now_ < pipe.hung_until) return at(pipe.hung_until, [this, from, to] { deliver(from, to); });
    const std::variant<Bytes, Status> piece = std::move(pipe.on_their_way.front());
    pipe.on_their_way.pop_front();
    if (const Status* end = std::get_if<Status>(&piece)) {
      pipe.open = false;
      ranks_[to]->machine->closed(from, *end);
    } else {
      for (const Bytes& message : complete_messages(pipe, std::get<Bytes>(piece))) {
        if (!is_dropped(to, message)) ranks_[to]->machine->received(from, message, now_);
      }
    }
    serve(to);
  });
}

std::vector<Bytes> ControlWorld::complete_messages(Pipe& pipe, const Bytes& piece) {
  std::vector<Bytes> messages;
  if (options_.real_frames) {
    if (!pipe.opener.feed(piece, messages)) violated(fmt::format("a frame is broken: {}", pipe.opener.problem()));
    return messages;
  }
  pipe.plain.insert(pipe.plain.end(), piece.begin(), piece.end());
  for (;;) {
    Reader reader(pipe.plain);
    const ByteView message = reader.bytes();
    if (!reader.ok()) return messages;
    messages.emplace_back(message.begin(), message.end());
    pipe.plain.erase(pipe.plain.begin(), pipe.plain.begin() + static_cast<ptrdiff_t>(4 + message.size()));
  }
}

// The planted fault.
bool ControlWorld::is_dropped(uint32_t to, ByteView message) {
  if (!options_.drop_one_word || to != deaf_) return false;
  Reader reader(message);
  const bool is_word = reader.number<uint8_t>() == 1;
  const auto origin = reader.number<uint32_t>();
  const std::pair word(origin, reader.number<uint32_t>());
  const auto about = reader.number<WordKind>();
  if (!is_word || !reader.ok() || about > WordKind::verdict) return false;
  if (!dropped_word_) dropped_word_ = word;
  return *dropped_word_ == word;
}

// ---- Ranks ---------------------------------------------------------------------------------------------------------

bool ControlWorld::runs(uint32_t rank) const {
  const Rank& state = *ranks_[rank];
  return !state.dead && !state.left && now_ >= state.stopped_until;
}

void ControlWorld::when_it_runs(uint32_t rank, const std::function<void()>& what) {
  const Rank& state = *ranks_[rank];
  if (state.dead || state.left) return;
  if (runs(rank)) return what();
  at(state.stopped_until, [this, rank, what] { when_it_runs(rank, what); });
}

// Carries out what a machine wants.
void ControlWorld::serve(uint32_t rank) {
  Rank& state = *ranks_[rank];
  for (const Flood::Outgoing& outgoing : state.machine->take_messages()) send(rank, outgoing.peer, outgoing.message);
  for (const uint32_t peer : state.machine->take_closes()) pipes_.at({rank, peer})->open = false;
  for (const LateNote& late : state.machine->take_late_notes()) state.note = late;
  for (const uint32_t lost : state.machine->take_lost()) {
    if (!ranks_[lost]->dead && !ranks_[lost]->isolated && !state.isolated)
      violated(fmt::format("rank {} took rank {} for dead, which lives", rank, lost));
  }
  if (state.machine->failure()) heard_failure(rank);
  const Time next = state.machine->next_deadline().time();
  if (next == Time::max() || next == state.timer) return;
  state.timer = next;
  at(std::max(next, now_), [this, rank] {
    when_it_runs(rank, [this, rank] {
      ranks_[rank]->timer = {};
      ranks_[rank]->machine->advance(now_);
      serve(rank);
    });
  });
}

void ControlWorld::heard_failure(uint32_t rank) {
  Rank& state = *ranks_[rank];
  if (state.failure) {
    if (state.failure->message() != state.machine->failure()->message())
      violated(fmt::format("rank {} has another failure than before", rank));
    return;
  }
  state.failure = state.machine->failure();
  state.failed_at = now_;
  ++counts_.failures;
  note(fmt::format("rank {} hears: {}", rank, state.failure->message()));
  if (!first_hard_)
    return violated(fmt::format("rank {} has a failure without a cause: {}", rank, state.failure->message()));
  const std::string& text = state.failure->message();
  const bool named = std::any_of(culprits_.begin(), culprits_.end(), [&](uint32_t culprit) {
    return text.find(fmt::format("rank {}", culprit)) != std::string::npos;
  });
  const bool mismatch = state.failure->code() == rondeMismatch && text.find("AllReduce A") != std::string::npos &&
                        text.find("AllReduce B") != std::string::npos;
  if (!named && !mismatch && !state.isolated)
    violated(fmt::format("rank {} hears '{}', but the cause is {}", rank, text, fmt::join(culprits_, ", ")));
  destroy_later(rank);
}

void ControlWorld::destroy_later(uint32_t rank) {
  in(real(0.01, 4), [this, rank] {
    when_it_runs(rank, [this, rank] {
      ranks_[rank]->machine->leave(ranks_[rank]->begun);
      serve(rank);
      ranks_[rank]->left = true;
    });
  });
}

CallNote ControlWorld::call_of(uint32_t rank, uint32_t sequence) const {
  const auto odd = odd_.find(sequence);
  const bool differs = odd != odd_.end() && odd->second == rank;
  return {sequence, differs ? 2u : 1u, differs ? "AllReduce B" : "AllReduce A"};
}

void ControlWorld::begin_call(uint32_t rank) {
  when_it_runs(rank, [this, rank] {
    Rank& state = *ranks_[rank];
    if (state.failure || state.culprit) return;
    if (last_call_ != 0 && state.begun == last_call_) {
      state.machine->leave(state.begun);
      serve(rank);
      state.left = true;
      return;
    }
    const uint32_t sequence = ++state.begun;
    impaired_change_ = now_;
    state.told_of_wait = false;
    const auto odd = odd_.find(sequence);
    if (odd != odd_.end()) {
      const Rank& odd_one = *ranks_[odd->second];
      const bool others = std::any_of(ranks_.begin(), ranks_.end(), [&](const auto& other) {
        return other.get() != &odd_one && other->begun >= sequence && !other->isolated;
      });
      const bool odd_one_has = odd_one.begun >= sequence && !odd_one.isolated;
      // The moment in which two have called different things.
      if (others && odd_one_has && !state.isolated) expect_failure_by(after(kDetection), odd->second);
    }
    for (const uint32_t culprit : culprits_) {
      if (ranks_[culprit]->left && sequence > ranks_[culprit]->begun && !state.isolated)
        expect_failure_by(after(kDetection), culprit);
    }
    complete_if_all_have_begun(sequence);
    look_at_wait(rank, sequence, 0.3);
    if (odd != odd_.end() && one_in(2)) look_at_wait(rank, sequence, 0.001);  // it reads what its neighbour called
  });
}

// The library asks itself about every 100 ms whether it has waited for long.
void ControlWorld::look_at_wait(uint32_t rank, uint32_t sequence, Seconds waited) {
  const Time due = after(waited + real(0, 0.1));
  at(due, [this, rank, sequence, waited] {
    when_it_runs(rank, [this, rank, sequence, waited] {
      Rank& state = *ranks_[rank];
      if (state.begun != sequence || state.ended >= sequence || state.failure || state.culprit) return;
      WaitReason reason = WaitReason::warning_due;
      if (waited < 0.1) {
        const uint32_t previous = (rank + nranks_ - 1) % nranks_;
        const bool sees_it =
            ranks_[previous]->begun >= sequence && call_of(previous, sequence).digest != call_of(rank, sequence).digest;
        if (!sees_it) return;
        reason = WaitReason::suspicion;
      } else if (waited < 1) {
        reason = WaitReason::long_wait;
      }
      state.told_of_wait = true;
      state.machine->waiting(call_of(rank, sequence), reason, now_);
      serve(rank);
      if (reason == WaitReason::long_wait) look_at_wait(rank, sequence, 9.0);
      if (reason != WaitReason::warning_due) return;
      in(0.7, [this, rank, sequence] { check_warning(rank, sequence); });
      look_at_wait(rank, sequence, 60.0);
    });
  });
}

void ControlWorld::check_warning(uint32_t rank, uint32_t sequence) {
  Rank& state = *ranks_[rank];
  if (!runs(rank) || state.failure || state.begun != sequence || state.ended >= sequence || first_hard_) return;
  if (now_ - impaired_change_ < std::chrono::seconds(2) || (nranks_ < 8 && now_ < hung_until_)) return;
  std::set<uint32_t> behind;
  std::set<uint32_t> silent;
  for (uint32_t other = 0; other < nranks_; ++other) {
    if (!runs(other)) {
      silent.insert(other);
    } else if (ranks_[other]->begun < sequence) {
      behind.insert(other);
    }
  }
  ++counts_.warnings_checked;
  if (!state.note || state.note->sequence != sequence)
    return violated(fmt::format("rank {} warns and does not know for whom it waits in number {}", rank, sequence));
  const std::set<uint32_t> told_behind(state.note->behind.begin(), state.note->behind.end());
  const std::set<uint32_t> told_silent(state.note->silent.begin(), state.note->silent.end());
  if (told_behind != behind || told_silent != silent) {
    violated(fmt::format("rank {} waits in number {} for {} behind and {} silent, but says {} and {}", rank, sequence,
                         behind, silent, told_behind, told_silent));
  }
}

void ControlWorld::complete_if_all_have_begun(uint32_t sequence) {
  if (odd_.contains(sequence)) return;
  for (uint32_t rank = 0; rank < nranks_; ++rank) {
    const Rank& state = *ranks_[rank];
    if (state.begun < sequence || state.dead || state.isolated || (state.left && state.culprit)) return;
    if (!state.left && now_ < state.stopped_until) return;
  }
  ++counts_.operations;
  for (uint32_t rank = 0; rank < nranks_; ++rank) {
    if (ranks_[rank]->ended >= sequence) continue;
    in(real(0.0001, 0.005), [this, rank, sequence] { when_it_runs(rank, [=, this] { end_call(rank, sequence); }); });
  }
}

void ControlWorld::end_call(uint32_t rank, uint32_t sequence) {
  Rank& state = *ranks_[rank];
  if (state.ended >= sequence || state.failure) return;
  state.ended = sequence;
  impaired_change_ = now_;
  if (state.told_of_wait) state.machine->resumed();
  serve(rank);
  if (state.wants_to_leave) return leave_early(rank);
  const double compute = std::exchange(state.next_compute, real(0.001, 0.2));
  in(compute, [this, rank] { begin_call(rank); });
}

// ---- Faults --------------------------------------------------------------------------------------------------------

void ControlWorld::plan_faults() {
  double when = 0.5;
  for (int i = 0; i < options_.soft_faults; ++i) {
    in(when, [this] { soft_fault(); });
    when += real(0.05, 2.5);
  }
  const int hard = options_.hard_faults ? 1 + static_cast<int>(number(3)) : 0;
  for (int i = 0; i < hard; ++i) {
    in(when, [this] { hard_fault(); });
    when += one_in(2) ? real(0, 0.01) : real(0, 3);
  }
  in(when + 40, [this] {
    uint32_t furthest = 0;
    for (const auto& rank : ranks_) furthest = std::max(furthest, rank->begun);
    last_call_ = furthest + 2;
  });
}

void ControlWorld::soft_fault() {
  ++faults_;
  uint32_t impaired = 0;
  for (uint32_t rank = 0; rank < nranks_; ++rank) impaired += runs(rank) ? 0 : 1;
  for (const auto& [key, pipe] : pipes_) impaired += key.first < key.second && now_ < pipe->hung_until ? 1 : 0;
  const uint32_t rank = number(nranks_);
  const uint32_t kind = impaired >= 3 ? 0 : number(3);
  if (kind == 0) {
    ranks_[rank]->next_compute = one_in(3) ? real(9, 16) : real(0.2, 4);
    note(fmt::format("rank {} will be late by {:.2f} s", rank, ranks_[rank]->next_compute));
  } else if (kind == 1) {
    stop(rank, one_in(4) ? real(10, 25) : real(0.05, 4));
  } else {
    const std::vector<uint32_t> peers = control_neighbours(rank, nranks_);
    hang(rank, peers[number(static_cast<uint32_t>(peers.size()))], real(0.05, 5));
  }
}

void ControlWorld::stop(uint32_t rank, Seconds span) {
  if (!runs(rank)) return;
  note(fmt::format("rank {} is stopped for {:.2f} s", rank, span));
  ranks_[rank]->stopped_until = after(span);
  impaired_until_ = std::max(impaired_until_, after(span));
  impaired_change_ = now_;
  in(span, [this, rank] {
    impaired_change_ = now_;
    ranks_[rank]->last_stop_end = now_;
    for (const auto& other : ranks_)
      if (other->begun > other->ended) complete_if_all_have_begun(other->begun);
  });
}

void ControlWorld::hang(uint32_t a, uint32_t b, Seconds span) {
  note(fmt::format("the connection of ranks {} and {} hangs for {:.2f} s", a, b, span));
  for (const auto& key : {std::pair(a, b), std::pair(b, a)}) {
    Pipe& pipe = *pipes_.at(key);
    pipe.hung_until = std::max(pipe.hung_until, after(span));
  }
  hung_until_ = std::max(hung_until_, after(span));
  impaired_until_ = std::max(impaired_until_, after(span));
  impaired_change_ = now_;
  in(span, [this] { impaired_change_ = now_; });
}

void ControlWorld::hard_fault() {
  std::vector<uint32_t> able;
  for (uint32_t rank = 0; rank < nranks_; ++rank)
    if (runs(rank) && !culprits_.contains(rank) && !ranks_[rank]->failure) able.push_back(rank);
  if (able.size() < 2) return;
  ++faults_;
  const uint32_t rank = able[number(static_cast<uint32_t>(able.size()))];
  Rank& state = *ranks_[rank];
  const auto is_culprit = [&](const std::string& how) {
    ++counts_.hard[how];
    note(fmt::format("rank {} {}", rank, how));
    if (!first_hard_) first_hard_ = now_;
    culprits_.insert(rank);
  };
  switch (number(5)) {
    case 0: return is_culprit("dies"), die(rank);
    case 1: return is_culprit("is cut off"), isolate(rank);
    case 2:  // destroys the communicator although the others go on
      is_culprit("leaves");
      state.wants_to_leave = true;
      if (state.ended == state.begun) leave_early(rank);
      return;
    case 3:
      is_culprit("aborts");
      state.culprit = true;
      state.machine->report({rondeAborted, "aborted the communicator"});
      serve(rank);
      destroy_later(rank);
      return expect_failure_by(after(kDetection), rank);
    default: {
      if (!odd_.empty()) return;
      is_culprit("will call something else");
      odd_[state.begun + 1] = rank;
    }
  }
}

// After a call, as a program can: destroying waits for the operations in progress.
void ControlWorld::leave_early(uint32_t rank) {
  Rank& state = *ranks_[rank];
  state.culprit = true;
  state.machine->leave(state.begun);
  serve(rank);
  state.left = true;
  for (const auto& other : ranks_)
    if (other->begun > state.begun && !other->left && !other->dead && !other->isolated)
      return expect_failure_by(after(kDetection), rank);
}

void ControlWorld::die(uint32_t rank) {
  Rank& state = *ranks_[rank];
  state.dead = state.culprit = true;
  for (const uint32_t peer : control_neighbours(rank, nranks_)) close_pipe(rank, peer, kEnd);
  expect_failure_by(after(kDetection), rank);
}

// Its host is out of reach: both sides see the connections silent, some time later.
void ControlWorld::isolate(uint32_t rank) {
  Rank& state = *ranks_[rank];
  state.isolated = true;
  for (const uint32_t peer : control_neighbours(rank, nranks_)) {
    for (const auto& [from, to] : {std::pair(rank, peer), std::pair(peer, rank)}) {
      Pipe& pipe = *pipes_.at({from, to});
      pipe.hung_until = Time::max();
      in(real(10, 13), [this, from = from, to = to, &pipe] {
        when_it_runs(to, [this, from, to, &pipe] {
          if (!std::exchange(pipe.open, false)) return;
          ranks_[to]->machine->closed(from, kSilent);
          serve(to);
        });
      });
    }
  }
  // Who would have found out something else may be the one that is cut off.
  if (expected_by_ && *expected_by_ > now_) expected_by_.reset();
  expect_failure_by(after(kSilence), rank);
}

void ControlWorld::expect_failure_by(Time latest, uint32_t culprit) {
  note(fmt::format("all must know of rank {} by {:.4f}", culprit,
                   std::chrono::duration<double>(latest - start_).count()));
  if (!expected_by_ || latest < *expected_by_) {
    expected_by_ = latest;
    // Few ranks have few ways around each other: what hangs or is stopped now is waited for.
    expected_slack_ = impaired_until_;
  }
}

void ControlWorld::check_end() {
  for (uint32_t rank = 0; rank < nranks_; ++rank) {
    const Rank& state = *ranks_[rank];
    if (state.dead || state.culprit) continue;
    if (!expected_by_) {
      if (!state.left || state.failure || (last_call_ != 0 && state.ended != last_call_))
        violated(fmt::format("rank {} has ended {} calls of {}", rank, state.ended, last_call_));
      continue;
    }
    if (!state.failure) {
      // It had ended its last call, and nobody needed it any more.
      if (state.left && last_call_ != 0 && state.ended == last_call_) continue;
      violated(fmt::format("rank {} never hears of a failure (call {})", rank, state.begun));
      continue;
    }
    Time latest = *expected_by_;
    const bool was_held = state.last_stop_end > *first_hard_ || state.isolated;
    if (was_held) latest = std::max(latest, state.last_stop_end + std::chrono::seconds(2));
    if (state.isolated) latest = std::max(latest, state.failed_at);
    if (nranks_ < 8) latest = std::max(latest, expected_slack_ + std::chrono::seconds(2));
    if (state.failed_at > latest) {
      violated(fmt::format("rank {} hears of the failure at {:.4f}, {:.4f} s too late", rank,
                           std::chrono::duration<double>(state.failed_at - start_).count(),
                           std::chrono::duration<double>(state.failed_at - latest).count()));
    }
  }
}

}  // namespace ronde::testing
