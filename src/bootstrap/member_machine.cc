#include "bootstrap/member_machine.h"

#include <fmt/format.h>

#include <algorithm>

namespace ronde {
namespace {

// The answer must be here before the deadline; a quarter of short waits.
constexpr Milliseconds kQuestionLead{500};

}  // namespace

MemberMachine::MemberMachine(JoinMessage join, std::string meeting_point, Milliseconds missing_warning,
                             std::string root_holder)
    : join_(std::move(join)),
      meeting_point_(std::move(meeting_point)),
      missing_warning_(missing_warning),
      root_holder_(std::move(root_holder)) {
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
    case MessageKind::closing: return take_closing();
    case MessageKind::refused:
    case MessageKind::failure:
      if (decode_status(reader, told)) return fail(told);
      [[fallthrough]];
    default: fail_unknown();
  }
}

void MemberMachine::fail_unknown() {
  fail({rondeInternalError,
        fmt::format("the meeting point ({}) sent a message that this rank does not know", meeting_point_)});
}

// From now on the root may end.
void MemberMachine::take_closing() {
  closing_ = true;
  if (exchanging_ || !joined_)
    fail({rondePeerLost,
          fmt::format("the process that holds the meeting point ({}) has ended before all had met", meeting_point_)});
}

void MemberMachine::take_table(Reader& reader) {
  TableMessage table;
  if (!decode(reader, table) || table.parts.size() != join_.nranks)
    return fail({rondeInternalError, fmt::format("the meeting point ({}) sent a broken table", meeting_point_)});
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
  const std::string waited =
      deadline_.passed(began_)
          ? fmt::format("rank {} had no time left in start-up for what comes next ({}).", join_.rank, what_)
          : fmt::format("rank {} waited {} in start-up ({}) for {}: not started, ended, or unable to reach {}?",
                        join_.rank, waited_text(now), what_, missing, meeting_point_);
  const Status why(rondeTimedOut, waited + " RONDE_INIT_TIMEOUT sets how many seconds start-up may take");
  report(why);  // the others would take this rank's end for a failure of its own
}

void MemberMachine::report(const Status& why) {
  if (own_failure_ || left_) return;
  own_failure_ = why;
  if (!failure_ && !ended_) messages_.push_back(encode_status(MessageKind::report, why));
  if (exchanging_) end_exchange(why);
}

void MemberMachine::leave() {
  if (left_) return;
  left_ = true;
  if (!ended_) messages_.push_back(encode(MessageKind::leave));
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
