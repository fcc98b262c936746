// One rank's control plane as a state machine: learns who has died, left or failed and tells it on, finds out whom a
// long wait is for, judges ranks that disagree. Without sockets and clocks; hub.h feeds it. One thread at a time.
#pragma once

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/deadline.h"
#include "base/status.h"
#include "control/flood.h"
#include "control/inquiry.h"
#include "control/messages.h"
#include "control/shrink.h"

namespace ronde {

// Why a rank tells that it waits.
enum class WaitReason : uint8_t {
  long_wait,    // for the first time in this call
  warning_due,  // a warning or an error will soon say for whom
  suspicion,    // it has seen that a peer called something else, or that a link is broken
};

class ControlMachine {
 public:
  // who: how a rank is named in messages. whereabouts: where is this rank, and what was its call of that number?
  ControlMachine(uint32_t rank, uint32_t nranks, std::function<std::string(uint32_t)> who,
                 std::function<Whereabouts(uint32_t)> whereabouts);

  // Inputs from neighbours. `end` is Connection::receive's account of how a connection ended.
  void linked(uint32_t peer) { flood_.open(peer); }
  void received(uint32_t peer, ByteView message, Time now);
  void closed(uint32_t peer, const Status& end, Time now);
  void advance(Time now);

  // Inputs of this rank.
  void waiting(const CallNote& call, WaitReason reason, Time now);
  void resumed();                  // it waits no more in the call that it told of
  void report(const Status& why);  // it has failed; at most one time has effect
  void leave(uint32_t begun, Time now);
  // The agreement on who goes on; also after a failure, and not after leave(). See Shrink.
  void begin_shrink(const std::set<uint32_t>& without, Time now, const std::optional<Status>& refusal = std::nullopt);
  void meet_at(const Result<Bytes>& meeting, Time now) { shrink_.meet_at(meeting, now); }
  void give_up_shrink(const Status& why, Time now) { shrink_.give_up(why, now); }

  // Outputs. The first failure that another rank caused or told of, or that was judged; not an own one.
  [[nodiscard]] const std::optional<Status>& failure() const { return failure_; }
  [[nodiscard]] bool has_left() const { return left_; }
  [[nodiscard]] const Shrink& shrink() const { return shrink_; }
  [[nodiscard]] std::vector<Flood::Outgoing> take_messages();
  // Neighbours that have said goodbye: nothing more goes to them.
  [[nodiscard]] std::vector<uint32_t> take_closes() { return std::exchange(closes_, {}); }
  [[nodiscard]] std::vector<uint32_t> take_lost() { return std::exchange(new_lost_, {}); }
  // Ranks that are known to have left: neighbours, and those of whom others have told. Whether that is a fault of sends
  // and receives only the rank that waits in them can tell.
  [[nodiscard]] std::vector<uint32_t> take_left() { return std::exchange(new_left_, {}); }
  [[nodiscard]] std::vector<LateNote> take_late_notes() { return std::exchange(late_notes_, {}); }
  [[nodiscard]] Deadline next_deadline() const;

 private:
  void goodbye_received(uint32_t peer, const Goodbye& goodbye, Time now);
  [[nodiscard]] bool arrived(const Flood::Arrival& arrival, Time now);
  [[nodiscard]] bool answer_arrived(WordKind kind, const Flood::Arrival& arrival, Reader& reader, Time now);
  [[nodiscard]] bool shrink_word_arrived(WordKind kind, const Flood::Arrival& arrival, Reader& reader, Time now);
  void asked(const Flood::Arrival& arrival, const CallNote& call, Time now);
  void hear_of_departure(uint32_t rank, uint32_t begun);
  [[nodiscard]] bool makes_sense(const Departures& departed) const;
  void concluded(const LateNote& note);
  void lose(uint32_t rank, const Status& how, Time now);
  void fail(Status why);
  void judge(const Status& verdict);
  bool check_departed();
  [[nodiscard]] bool has_heard(const CallNote& call) const {
    return heard_ && heard_->numbered == call.numbered && heard_->sequence == call.sequence;
  }
  void begin_inquiry(Time now);
  void conclude_if_due(Time now);
  void conclude(Time now);
  bool look_further_back(const Status& verdict, Time now);
  // Nothing is asked or told any more, but what others say is passed on.
  [[nodiscard]] bool ended() const { return left_ || reported_ || failure_.has_value(); }
  [[nodiscard]] bool are_ranks(const auto& ranks) const {
    return std::all_of(ranks.begin(), ranks.end(), [this](uint32_t rank) { return rank < nranks_; });
  }
  [[nodiscard]] bool makes_sense(const CallNote& call) const {
    return are_ranks(call.sends_to) && are_ranks(call.receives_from);
  }
  [[nodiscard]] bool makes_sense(const LateNote& note) const;

  const uint32_t rank_;
  const uint32_t nranks_;
  const std::function<std::string(uint32_t)> who_;
  const std::function<Whereabouts(uint32_t)> whereabouts_;
  Flood flood_;
  std::set<uint32_t> said_goodbye_;  // neighbours
  std::map<uint32_t, uint32_t>
      departed_;  // these, and those of whom others have told; the last call that each had begun
  std::set<uint32_t> lost_;
  std::optional<Status> failure_;
  bool reported_ = false;
  bool left_ = false;
  Shrink shrink_;

  // This rank's long wait.
  std::optional<CallNote> waits_;
  std::optional<WaitReason> wish_;  // why the others are to be asked, as soon as nobody else does
  // The last inquiry that has heard of this rank's call, of another rank or its own. What comes of it is told to all.
  struct Heard {
    bool numbered = true;
    uint32_t sequence = 0;
    bool concluded = false;
    bool before_suspicion = false;  // the suspicion that is wish_ came after it
    Time at{};
  };
  std::optional<Heard> heard_;
  Time begin_at_{};  // another one's inquiry is under way until then
  std::optional<Inquiry> inquiry_;
  uint32_t inquiry_number_ = 0;
  std::optional<Status> mismatch_;  // found; it is being asked whether an earlier call was different already

  std::vector<Flood::Outgoing> messages_;
  std::vector<uint32_t> closes_;
  std::vector<uint32_t> new_lost_;
  std::vector<uint32_t> new_left_;
  std::vector<LateNote> late_notes_;
};

}  // namespace ronde
