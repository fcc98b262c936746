#include "support/control_world.h"

#include <fmt/format.h>

#include <algorithm>
#include <variant>

#include "control/graph.h"
#include "support/control_world_parts.h"

namespace ronde::testing {
namespace {

constexpr size_t kMostEvents = 5'000'000;
constexpr double kLastSecond = 600;

}  // namespace

ControlWorld::ControlWorld(const ControlWorldOptions& options) : options_(options), random_(options.seed) {
  static constexpr uint32_t kSizes[] = {2, 3, 4, 4, 5, 6, 7, 8, 8, 9, 12, 16, 16, 24, 33, 64};
  nranks_ = options.nranks != 0 ? options.nranks : kSizes[number(std::size(kSizes))];
  faulty_ = number(nranks_);
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
  if (options_.shrinks) deaths_in_shrinks_ = static_cast<int>(number(4));
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
      ranks_[to]->machine->closed(from, *end, now_);
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

// Of a message of a Flood; nothing: an answer, or no such message.
std::optional<WordKind> ControlWorld::word_kind(ByteView message) {
  Reader reader(message);
  const bool is_word = reader.number<uint8_t>() == 1;
  reader.number<uint64_t>();  // whose, and its number
  const auto kind = reader.number<WordKind>();
  return is_word && reader.ok() ? std::optional(kind) : std::nullopt;
}

bool ControlWorld::is_dropped(uint32_t to, ByteView message) {
  if (options_.planted != PlantedFault::lost_word || to != faulty_) return false;
  Reader reader(message);
  reader.number<uint8_t>();
  const auto origin = reader.number<uint32_t>();
  const std::pair word(origin, reader.number<uint32_t>());
  const std::optional<WordKind> about = word_kind(message);
  if (options_.shrinks ? about != WordKind::shrink_commit : !about || *about > WordKind::verdict) return false;
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
  for (const Flood::Outgoing& outgoing : state.machine->take_messages()) {
    send(rank, outgoing.peer, outgoing.message);
    if (dies_in_shrink(rank, *outgoing.message)) return;
  }
  for (const uint32_t peer : state.machine->take_closes()) pipes_.at({rank, peer})->open = false;
  for (const LateNote& late : state.machine->take_late_notes()) state.note = late;
  for (const uint32_t lost : state.machine->take_lost()) {
    if (!ranks_[lost]->dead && !ranks_[lost]->isolated && !state.isolated)
      violated(fmt::format("rank {} took rank {} for dead, which lives", rank, lost));
  }
  if (state.machine->failure()) heard_failure(rank);
  if (state.shrinks) look_at_shrink(rank);
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
  options_.shrinks && !state.culprit ? begin_shrink_later(rank) : destroy_later(rank);
}

void ControlWorld::destroy_later(uint32_t rank) {
  in(real(0.01, 4), [this, rank] { when_it_runs(rank, [this, rank] { leave_now(rank); }); });
}

void ControlWorld::leave_now(uint32_t rank) {
  ranks_[rank]->machine->leave(ranks_[rank]->begun, now_);
  serve(rank);
  ranks_[rank]->left = true;
  shrink_news_ = now_;
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
      state.machine->leave(state.begun, now_);
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

}  // namespace ronde::testing
