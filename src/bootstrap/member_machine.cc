#include "bootstrap/member_machine.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/shared_word.h"

namespace ronde {
namespace {

// The answer must be here before the deadline; a quarter of short waits.
constexpr Milliseconds kQuestionLead{500};

}  // namespace

MemberMachine::MemberMachine(JoinMessage join, std::string meeting_point, Milliseconds missing_warning)
    : join_(std::move(join)), meeting_point_(std::move(meeting_point)), missing_warning_(missing_warning) {
  messages_.push_back(encode(join_));
}

void MemberMachine::begin_exchange(std::string_view what, ByteView mine, Time now, Deadline deadline) {
  exchanging_ = true;
  what_ = what;
  began_ = now;
  deadline_ = deadline;
  next_warning_ = now + missing_warning_;
  warn_when_answered_ = false;
  missing_.reset();
  result_.reset();
  last_question_ = Time::max();
  if (deadline.time() != Time::max() && deadline.time() > now) {
    const auto quarter = std::chrono::duration_cast<Milliseconds>((deadline.time() - now) / 4);
    last_question_ = deadline.time() - std::min(quarter, kQuestionLead);
  }

  if (own_failure_) return end_exchange(*own_failure_);
  if (failure_) return end_exchange(*failure_);
  if (left_) return end_exchange({rondeInvalidUsage, fmt::format("{}: this rank has said goodbye", what_)});
  if (closing_ || ended_)
    return end_exchange({rondePeerLost, fmt::format("{}: the process that holds the meeting point ({}) has ended",
                                                    what_, meeting_point_)});
  messages_.push_back(encode_gift(mine));
}

void MemberMachine::received(ByteView message, Time now) {
  Reader reader(message);
  Status told;
  switch (reader.number<MessageKind>()) {
    case MessageKind::welcome: joined_ = true; return;
    case MessageKind::table: return take_table(reader);
    case MessageKind::missing: return take_missing(reader, now);
    case MessageKind::closing: return take_closing(reader);
    case MessageKind::question: {
      uint32_t sequence = 0;
      if (!decode_sequence(reader, sequence)) return fail_unknown();
      questions_.push_back(sequence);
      return;
    }
    case MessageKind::late: {
      LateNote note;
      if (!decode(reader, note) || !are_ranks(note.behind) || !are_ranks(note.silent)) return fail_unknown();
      late_notes_.push_back(std::move(note));
      return;
    }
    case MessageKind::lost: {
      std::vector<uint32_t> lost;
      if (!decode_ranks(reader, lost) || !are_ranks(lost)) return fail_unknown();
      lost_.insert(lost_.end(), lost.begin(), lost.end());
      return;
    }
    case MessageKind::refused:
    case MessageKind::failure:
      if (decode_status(reader, told)) return fail(told);
      [[fallthrough]];
    default: fail_unknown();
  }
}

bool MemberMachine::are_ranks(const std::vector<uint32_t>& ranks) const {
  return std::all_of(ranks.begin(), ranks.end(), [this](uint32_t rank) { return rank < join_.nranks; });
}

void MemberMachine::fail_unknown() {
  fail({rondeInternalError,
        fmt::format("the meeting point ({}) sent a message that this rank does not know", meeting_point_)});
}

// From now on the root may end; then what it knew last is all that this rank knows of the others.
void MemberMachine::take_closing(Reader& reader) {
  ClosingMessage closing;
  if (!decode(reader, closing)) return fail_unknown();
  closing_ = true;
  departures_ = std::move(closing.left);
  if (exchanging_ || !joined_)
    return fail(
        {rondePeerLost,
         fmt::format("the process that holds the meeting point ({}) has ended before all had met", meeting_point_)});
  check_departures();
}

void MemberMachine::waiting(const CallNote& call, bool ask_others) {
  waits_in_ = call;
  check_departures();
  if (!ended_ && !left_ && !failure_) messages_.push_back(encode(WaitingMessage{call, ask_others}));
}

void MemberMachine::resumed() {
  waits_in_.reset();
  if (!ended_ && !left_ && !failure_) messages_.push_back(encode(MessageKind::resumed));
}

void MemberMachine::check_departures() {
  for (const auto& [rank, begun] : departures_) {
    if (!waits_in_ || reached(begun, waits_in_->sequence)) continue;
    return fail(left_too_early(fmt::format("rank {}", rank), begun, fmt::format("rank {}", join_.rank), *waits_in_));
  }
}

void MemberMachine::answer(uint32_t asked, const Whereabouts& whereabouts) {
  if (!ended_ && !left_) messages_.push_back(encode(AnswerMessage{asked, whereabouts}));
}

void MemberMachine::take_table(Reader& reader) {
  TableMessage table;
  if (!decode(reader, table) || table.parts.size() != join_.nranks || !are_ranks(table.root_ranks))
    return fail({rondeInternalError, fmt::format("the meeting point ({}) sent a broken table", meeting_point_)});
  root_ranks_ = std::move(table.root_ranks);
  root_holder_ = std::move(table.root_holder);
  if (!exchanging_) return;  // its deadline has passed meanwhile
  result_ = std::move(table.parts);
  exchanging_ = false;
}

void MemberMachine::take_missing(Reader& reader, Time now) {
  std::vector<uint32_t> missing;
  if (!decode_ranks(reader, missing) || !exchanging_) return;
  missing_ = std::move(missing);
  if (!std::exchange(warn_when_answered_, false)) return;
  warnings_.push_back(fmt::format("rank {} has waited {} in start-up ({}) for {}", join_.rank, waited_text(now), what_,
                                  ranks_text(*missing_)));
}

void MemberMachine::closed(const Status& end) {
  ended_ = true;
  if (left_ || closing_) return;
  lost_.insert(lost_.end(), root_ranks_.begin(), root_ranks_.end());
  const std::string holder =
      root_holder_.empty()
          ? fmt::format("the process that holds the meeting point ({})", meeting_point_)
          : fmt::format("{}, whose process holds the meeting point ({}),", root_holder_, meeting_point_);
  fail({end.code(), fmt::format("{} {}", holder, end.message())});
}

void MemberMachine::ask() {
  if (!ended_) messages_.push_back(encode(MessageKind::ask));
}

void MemberMachine::advance(Time now) {
  if (!exchanging_) return;
  if (now >= next_warning_) {
    next_warning_ = now + missing_warning_;
    warn_when_answered_ = true;
    ask();
  }
  if (now >= last_question_) {
    last_question_ = Time::max();
    ask();
  }
  if (deadline_.passed(now)) time_out(now);
}

void MemberMachine::time_out(Time now) {
  const std::string missing =
      missing_ ? ranks_text(*missing_) : "the other ranks (the meeting point did not tell which)";
  const Status why(rondeTimedOut,
                   fmt::format("rank {} waited {} in start-up ({}) for {}: not started, ended, or unable to reach {}? "
                               "RONDE_INIT_TIMEOUT sets how many seconds start-up may take",
                               join_.rank, waited_text(now), what_, missing, meeting_point_));
  report(why);  // the others would take this rank's end for a failure of its own
}

void MemberMachine::report(const Status& why) {
  if (own_failure_ || left_) return;
  own_failure_ = why;
  if (!failure_ && !ended_) messages_.push_back(encode_status(MessageKind::report, why));
  if (exchanging_) end_exchange(why);
}

void MemberMachine::leave(uint32_t begun) {
  if (left_) return;
  left_ = true;
  if (!ended_) messages_.push_back(encode_sequence(MessageKind::leave, begun));
  if (exchanging_) end_exchange({rondeAborted, fmt::format("{}: this rank has said goodbye meanwhile", what_)});
}

void MemberMachine::fail(Status why) {
  if (!failure_ && !left_) failure_ = why;
  if (exchanging_) end_exchange(std::move(why));
}

void MemberMachine::end_exchange(Status why) {
  exchanging_ = false;
  result_ = std::move(why);
}

Result<std::vector<Bytes>> MemberMachine::take_result() {
  Result<std::vector<Bytes>> result = std::move(*result_);
  result_.reset();
  return result;
}

std::string MemberMachine::waited_text(Time now) const {
  return fmt::format("{:.1f} s", std::chrono::duration<double>(now - began_).count());
}

Deadline MemberMachine::next_deadline() const {
  if (!exchanging_) return Deadline::never();
  return deadline_.earlier(Deadline::at(next_warning_)).earlier(Deadline::at(last_question_));
}

}  // namespace ronde
