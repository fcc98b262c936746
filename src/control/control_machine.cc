#include "control/control_machine.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/shared_word.h"
#include "bootstrap/messages.h"
#include "control/wait_text.h"

namespace ronde {
namespace {

// A rank that lives answers within this time, unless it is stopped.
constexpr Milliseconds kAnswerLimit{400};
// The same of one that has just answered.
constexpr Milliseconds kLookBackLimit{200};
// What an inquiry has found is good enough for a warning for so long.
constexpr Milliseconds kFresh{1000};
// A timer that comes later than this was held up with the whole process, and what it waited for as well.
constexpr Milliseconds kHeldUp{1000};

}  // namespace

ControlMachine::ControlMachine(uint32_t rank, uint32_t nranks, std::function<std::string(uint32_t)> who,
                               std::function<Whereabouts(uint32_t)> whereabouts)
    : rank_(rank),
      nranks_(nranks),
      who_(std::move(who)),
      whereabouts_(std::move(whereabouts)),
      flood_(rank, nranks),
      shrink_(rank, nranks) {}

// ---- From neighbours -----------------------------------------------------------------------------------------------

void ControlMachine::received(uint32_t peer, ByteView message, Time now) {
  if (left_) return;
  Reader reader(message);
  Goodbye goodbye;
  bool known = true;
  if (reader.number<WordKind>() == WordKind::goodbye) {
    known = decode(reader, goodbye) && makes_sense(goodbye.departed);
    if (known) goodbye_received(peer, goodbye, now);
  } else {
    known = flood_.received(peer, message);
    for (const Flood::Arrival& arrival : flood_.take_arrivals()) known = arrived(arrival, now) && known;
  }
  if (!known) {
    fail({rondeInternalError, fmt::format("{} passed on a control message that this rank does not know", who_(peer))});
  }
}

void ControlMachine::goodbye_received(uint32_t peer, const Goodbye& goodbye, Time now) {
  flood_.close(peer);
  closes_.push_back(peer);
  hear_of_departure(peer, goodbye.begun);
  for (const auto& [rank, begun] : goodbye.departed) hear_of_departure(rank, begun);
  if (!said_goodbye_.insert(peer).second) return;
  if (shrink_.active()) flood_.say(encode_left({peer}));  // only its neighbours have heard it
  shrink_.gone(peer, now);
  if (ended()) return;
  if (check_departed() || !inquiry_) return;
  inquiry_->left(peer, goodbye.begun);
  for (const auto& [rank, begun] : goodbye.departed) inquiry_->left(rank, begun);
  conclude_if_due(now);
}

void ControlMachine::hear_of_departure(uint32_t rank, uint32_t begun) {
  if (rank != rank_ && departed_.emplace(rank, begun).second) new_left_.push_back(rank);
}

bool ControlMachine::makes_sense(const Departures& departed) const {
  return std::all_of(departed.begin(), departed.end(), [this](const auto& entry) { return entry.first < nranks_; });
}

void ControlMachine::closed(uint32_t peer, const Status& end, Time now) {
  if (!flood_.links().contains(peer)) return;
  flood_.close(peer);
  if (left_) return;
  lose(peer, end, now);
}

// This rank is the first to see it, or one of the first.
void ControlMachine::lose(uint32_t rank, const Status& how, Time now) {
  if (!lost_.insert(rank).second) return;
  new_lost_.push_back(rank);
  flood_.say(encode_lost(rank, how));
  shrink_.gone(rank, now);
  fail({how.code(), fmt::format("{} {}", who_(rank), how.message())});
}

bool ControlMachine::arrived(const Flood::Arrival& arrival, Time now) {
  Reader reader(arrival.payload);
  const auto kind = reader.number<WordKind>();
  if (arrival.answers) return answer_arrived(kind, arrival, reader, now);
  Status status;
  CallNote call;
  LateNote note;
  uint32_t rank = 0;
  switch (kind) {
    case WordKind::lost:
      if (!decode_lost(reader, rank, status) || rank >= nranks_) return false;
      shrink_.gone(rank, now);
      if (rank == rank_) {
        fail({rondePeerUnreachable, fmt::format("{} has lost the connection to this rank, and took it for dead: {}",
                                                who_(arrival.origin), status.message())});
      } else if (lost_.insert(rank).second) {
        new_lost_.push_back(rank);
        fail({status.code(), fmt::format("{} {}", who_(rank), status.message())});
      }
      return true;
    case WordKind::failure:
      if (!decode_status(reader, status)) return false;
      fail({status.code(), fmt::format("{}: {}", who_(arrival.origin), status.message())});
      return true;
    case WordKind::verdict:
      if (!decode_status(reader, status)) return false;
      fail(status);
      return true;
    case WordKind::inquiry:
      if (!decode(reader, call) || !makes_sense(call)) return false;
      asked(arrival, call, now);
      return true;
    case WordKind::late:
      if (!decode(reader, note) || !makes_sense(note)) return false;
      concluded(note);
      return true;
    default: return shrink_word_arrived(kind, arrival, reader, now);
  }
}

bool ControlMachine::shrink_word_arrived(WordKind kind, const Flood::Arrival& arrival, Reader& reader, Time now) {
  ShrinkQuestion question;
  ShrinkCommit commit;
  std::vector<uint32_t> ranks;
  switch (kind) {
    case WordKind::shrink_question:
      if (!decode(reader, question) || !are_ranks(question.excluded) || !are_ranks(question.missing)) return false;
      shrink_.asked(arrival.origin, arrival.number, question, now);
      return true;
    case WordKind::shrink_commit:
      if (!decode(reader, commit) || !are_ranks(commit.decision.members)) return false;
      shrink_.committed(commit, now);
      return true;
    case WordKind::left:
      if (!decode_ranks(reader, ranks) || !are_ranks(ranks)) return false;
      for (const uint32_t rank : ranks) shrink_.gone(rank, now);
      return true;
    default: return false;
  }
}

bool ControlMachine::answer_arrived(WordKind kind, const Flood::Arrival& arrival, Reader& reader, Time now) {
  if (kind == WordKind::shrink_question) {
    ShrinkAnswer answer;
    if (!decode(reader, answer) || !are_ranks(answer.excluded)) return false;
    if (answer.decision && !are_ranks(answer.decision->members)) return false;
    shrink_.answered(*arrival.answers, answer, now);
    return true;
  }
  Answer answer;
  if (kind != WordKind::inquiry || !decode(reader, answer)) return false;
  if ((answer.wait && !makes_sense(*answer.wait)) || !makes_sense(answer.departed)) return false;
  for (const auto& [rank, begun] : answer.departed) hear_of_departure(rank, begun);
  if (!inquiry_ || arrival.number != inquiry_number_) return true;
  inquiry_->answered(*arrival.answers, answer);
  conclude_if_due(now);
  return true;
}

void ControlMachine::asked(const Flood::Arrival& arrival, const CallNote& call, Time now) {
  Answer answer{whereabouts_(call.sequence), waits_, {departed_.begin(), departed_.end()}};
  if (!call.numbered) answer.whereabouts.call.reset();  // of another kind of numbers
  flood_.answer(arrival.origin, arrival.number, encode(answer));
  const Milliseconds spread(1 + rank_ % 64);  // not all at the same moment
  if (waits_ && !waits_->numbered) {
    // What comes of it may be about this rank's wait, too.
    if (has_heard(*waits_) && (!heard_->concluded || now - heard_->at < kFresh)) return;
    heard_ = {false, waits_->sequence, false, false, now};
    begin_at_ = now + spread;
    return;
  }
  if (!answer.whereabouts.call || (waits_ && waits_->sequence != call.sequence)) return;
  // This rank need not ask the same, unless nothing comes of it.
  heard_ = {true, call.sequence, false, false, now};
  begin_at_ = now + kAnswerLimit + spread;
}

bool ControlMachine::makes_sense(const LateNote& note) const {
  return are_ranks(note.behind) && are_ranks(note.silent) &&
         std::all_of(note.waits.begin(), note.waits.end(), [this](const RankWait& wait) {
           return wait.rank < nranks_ && are_ranks(wait.awaited) && makes_sense(wait.call);
         });
}

void ControlMachine::concluded(const LateNote& note) {
  late_notes_.push_back(note);
  if (!heard_ || !concerns(note, rank_, heard_->numbered, heard_->sequence)) return;
  heard_->concluded = true;
  if (!heard_->before_suspicion) wish_.reset();
  begin_at_ = {};
}

void ControlMachine::fail(Status why) {
  if (left_ || failure_) return;
  failure_ = std::move(why);
  inquiry_.reset();
}

// ---- Of this rank --------------------------------------------------------------------------------------------------

void ControlMachine::report(const Status& why) {
  if (left_ || std::exchange(reported_, true)) return;
  inquiry_.reset();
  flood_.say(encode_status(WordKind::failure, why));
}

void ControlMachine::leave(uint32_t begun, Time now) {
  if (std::exchange(left_, true)) return;
  shrink_.give_up({rondeRemoteError, fmt::format("rank {} has left while the ranks agreed on who goes on", rank_)},
                  now);
  messages_ = take_messages();
  const auto goodbye = std::make_shared<const Message>(encode_goodbye({begun, {departed_.begin(), departed_.end()}}));
  for (const uint32_t peer : flood_.links()) messages_.push_back({peer, goodbye});
  inquiry_.reset();
}

void ControlMachine::begin_shrink(const std::set<uint32_t>& without, Time now, const std::optional<Status>& refusal) {
  if (left_) return;
  std::vector<uint32_t> left;
  for (const auto& [rank, begun] : departed_) left.push_back(rank);
  if (!left.empty()) flood_.say(encode_left(left));  // only its neighbours have heard it
  shrink_.begin(without, now, refusal);
}

void ControlMachine::waiting(const CallNote& call, WaitReason reason, Time now) {
  if (ended()) return;
  waits_ = call;
  if (check_departed()) return;
  const bool is_known = has_heard(call) && heard_->concluded;
  if (reason == WaitReason::long_wait && is_known) return;
  if (reason == WaitReason::warning_due && is_known && now - heard_->at < kFresh) return;
  wish_ = std::max(wish_.value_or(reason), reason);
  if (reason == WaitReason::suspicion && heard_) heard_->before_suspicion = true;
  begin_inquiry(now);
}

void ControlMachine::resumed() {
  if (mismatch_ && !ended()) judge(*mismatch_);
  waits_.reset();
  wish_.reset();
  heard_.reset();
  inquiry_.reset();
}

// Who is known to have left is not asked: what it needs to say it has said.
bool ControlMachine::check_departed() {
  if (!waits_ || !waits_->numbered) return false;
  for (const auto& [rank, begun] : departed_) {
    if (reached(begun, waits_->sequence)) continue;
    judge(left_too_early(who_(rank), begun, rank_, *waits_));
    return true;
  }
  return false;
}

void ControlMachine::begin_inquiry(Time now) {
  const bool is_asking = inquiry_ && !inquiry_->concluded();
  if (!wish_ || !waits_ || is_asking || ended()) return;
  if (has_heard(*waits_) && now < begin_at_) return;
  wish_.reset();
  heard_ = {waits_->numbered, waits_->sequence, false, false, now};
  std::set<uint32_t> others;
  for (uint32_t rank = 0; rank < nranks_; ++rank)
    if (rank != rank_ && !lost_.contains(rank) && !departed_.contains(rank)) others.insert(rank);
  const uint32_t begun = waits_->numbered ? waits_->sequence : whereabouts_(waits_->sequence).begun;
  inquiry_.emplace(rank_, *waits_, begun, std::move(others), now + kAnswerLimit);
  inquiry_number_ = flood_.say(encode_inquiry(*waits_));
  conclude_if_due(now);
}

// An answer that comes after the conclusion, from a rank that was stopped or out of reach, may still show what is
// wrong.
void ControlMachine::conclude_if_due(Time now) {
  if (inquiry_->complete() || (inquiry_->concluded() && inquiry_->verdict(who_))) conclude(now);
}

void ControlMachine::conclude(Time now) {
  inquiry_->conclude();
  const std::optional<Status> verdict = inquiry_->verdict(who_);
  if (verdict && inquiry_->disputed() && look_further_back(*verdict, now)) return;
  if (mismatch_ && !inquiry_->disputed()) return judge(*mismatch_);
  if (verdict) return judge(*verdict);
  // Of messages another rank has told meanwhile, which has asked later: this rank knows less.
  if (!inquiry_->call().numbered && heard_ && heard_->concluded) return;
  const LateNote note = inquiry_->late();
  flood_.say(encode(note));
  concluded(note);
}

// Digests differ from the first call on that was different. Those that have answered are asked for the one before.
bool ControlMachine::look_further_back(const Status& verdict, Time now) {
  const uint32_t before = inquiry_->call().sequence - 1;
  const Whereabouts here = whereabouts_(before);
  if (!here.call) return false;
  mismatch_ = verdict;
  inquiry_.emplace(rank_, *here.call, here.begun, inquiry_->callers(), now + kLookBackLimit);
  inquiry_number_ = flood_.say(encode_inquiry(*here.call));
  return true;
}

void ControlMachine::judge(const Status& verdict) {
  flood_.say(encode_status(WordKind::verdict, verdict));
  fail(verdict);
}

void ControlMachine::advance(Time now) {
  if (inquiry_ && !inquiry_->concluded() && now >= inquiry_->until()) {
    if (now - inquiry_->until() > kHeldUp) {
      inquiry_->extend(now + kAnswerLimit);
    } else {
      conclude(now);
    }
  }
  begin_inquiry(now);
  shrink_.advance(now);
}

Deadline ControlMachine::next_deadline() const {
  const Deadline next = shrink_.next_deadline();
  if (inquiry_ && !inquiry_->concluded()) return next.earlier(Deadline::at(inquiry_->until()));
  if (wish_ && waits_ && !ended()) return next.earlier(Deadline::at(begin_at_));
  return next;
}

std::vector<Flood::Outgoing> ControlMachine::take_messages() {
  for (const Bytes& word : shrink_.take_words()) flood_.say(word);
  for (const Shrink::Reply& reply : shrink_.take_replies())
    flood_.answer(reply.origin, reply.word, encode(reply.answer));
  for (Flood::Outgoing& outgoing : flood_.take_messages()) messages_.push_back(std::move(outgoing));
  return std::exchange(messages_, {});
}

}  // namespace ronde
