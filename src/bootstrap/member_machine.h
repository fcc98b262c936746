// A member of a rendezvous as a state machine: joins, exchanges, learns of failures. Without sockets and clocks;
// member.h feeds it. One thread at a time.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/deadline.h"
#include "base/status.h"
#include "bootstrap/messages.h"

namespace ronde {

class MemberMachine {
 public:
  // meeting_point: its address, for messages. missing_warning: how often missing ranks are named. root_holder: in whose
  // process it is, if that is known before it says so itself.
  MemberMachine(JoinMessage join, std::string meeting_point, Milliseconds missing_warning,
                std::string root_holder = "");

  // Joining starts at once; it has ended when joined() or failure().
  [[nodiscard]] bool joined() const { return joined_; }

  // Inputs. `end` is Connection::receive's account of how the connection ended.
  void begin_exchange(std::string_view what, ByteView mine, Time now, Deadline deadline);
  void received(ByteView message, Time now);
  void closed(const Status& end);
  void advance(Time now);
  void report(const Status& why);
  void leave();

  // True once the exchange has its result.
  [[nodiscard]] bool exchange_ended() const { return !exchanging_; }
  // The table, or why there is none. Once after exchange_ended().
  [[nodiscard]] Result<std::vector<Bytes>> take_result();

  // The first failure that another rank caused or told of, or the end of the meeting point; not an own one.
  [[nodiscard]] const std::optional<Status>& failure() const { return failure_; }
  // Nothing comes from the root any more.
  [[nodiscard]] bool ended() const { return ended_; }
  [[nodiscard]] bool has_left() const { return left_; }

  // Outputs: what to send, in order; what to tell the user.
  [[nodiscard]] std::vector<SharedMessage> take_messages() { return std::exchange(messages_, {}); }
  [[nodiscard]] std::vector<std::string> take_warnings() { return std::exchange(warnings_, {}); }
  [[nodiscard]] Deadline next_deadline() const;

 private:
  void take_table(Reader& reader);
  void take_missing(Reader& reader, Time now);
  void take_closing();
  void fail_unknown();
  void ask();
  void time_out(Time now);
  void fail(Status why);
  void end_exchange(Status why);
  [[nodiscard]] std::string waited_text(Time now) const;

  const JoinMessage join_;
  const std::string meeting_point_;
  const Milliseconds missing_warning_;
  bool joined_ = false;
  bool left_ = false;
  bool ended_ = false;    // the connection
  bool closing_ = false;  // the root's process may end
  std::string root_holder_;
  std::optional<Status> failure_;
  std::optional<Status> own_failure_;

  // The exchange in progress.
  bool exchanging_ = false;
  std::string what_;
  Time began_{};
  Deadline deadline_ = Deadline::never();
  Time next_warning_ = Time::max();
  Time last_question_ = Time::max();  // shortly before the deadline, so that its error can name the missing ranks
  bool warn_when_answered_ = false;
  std::optional<std::vector<uint32_t>> missing_;  // the last answer
  std::optional<Result<std::vector<Bytes>>> result_;

  std::vector<SharedMessage> messages_;
  std::vector<std::string> warnings_;
};

}  // namespace ronde
