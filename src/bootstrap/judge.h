// What the ranks of a communicator say about the operations that they are in, and what follows: who has left and is still
// waited for, who called something else, who is late. Only ranks that have waited for long say anything, so nothing of
// this is on the path of an operation that goes well. A state machine without sockets and clocks.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/deadline.h"
#include "base/status.h"

namespace ronde {

// One rank's call of a collective. Numbers are compared by signed difference.
struct CallNote {
  uint32_t sequence = 0;
  uint32_t digest = 0;      // over what must be equal on all ranks
  std::string description;  // "AllReduce (float32, sum, 1024 elements)"
};

// How far a rank is: an answer to "where are you, and what was your call number n?"
struct Whereabouts {
  uint32_t begun = 0;            // the last number that it has begun
  std::optional<CallNote> call;  // number n, if it was begun and is still remembered
};

// Whom a wait is for, in truth: the rank next to it is often innocent.
struct LateNote {
  uint32_t sequence = 0;
  std::vector<uint32_t> behind;  // have not begun this number
  std::vector<uint32_t> silent;  // did not answer: stopped, or out of reach
};

class Judge {
 public:
  struct Question {
    uint32_t rank;
    uint32_t sequence;
  };
  struct Notice {
    uint32_t rank;  // to whom
    LateNote note;
  };

  // who: how a rank is named in a verdict.
  Judge(uint32_t nranks, std::function<std::string(uint32_t)> who) : nranks_(nranks), who_(std::move(who)) {}

  // Inputs. ask_others: a warning is due, or the rank has seen another one's call differ.
  void waiting(uint32_t rank, const CallNote& call, bool ask_others, Time now);
  // It waits no more in the call that it told of.
  void resumed(uint32_t rank) { waits_.erase(rank); }
  void answered(uint32_t rank, uint32_t asked, const Whereabouts& whereabouts);
  // In good order; begun: the last number that it has begun. It answers no more questions.
  void left(uint32_t rank, uint32_t begun);
  void advance(Time now);

  // Outputs. The verdict is a failure of the whole communicator; at most one.
  [[nodiscard]] std::optional<Status> take_verdict() { return std::exchange(verdict_, std::nullopt); }
  [[nodiscard]] std::vector<Question> take_questions() { return std::exchange(questions_, {}); }
  [[nodiscard]] std::vector<Notice> take_notices() { return std::exchange(notices_, {}); }
  [[nodiscard]] Deadline next_deadline() const;

 private:
  struct Inquiry {  // about one number
    Time until{};
    std::map<uint32_t, CallNote> calls;  // of this number, by rank
    std::set<uint32_t> unanswered;
    std::set<uint32_t> behind;
    std::set<uint32_t> askers;
    bool disputed = false;  // two of the calls differ
  };

  Inquiry& inquire(uint32_t rank, uint32_t sequence, Time now);
  static void enter(Inquiry& inquiry, uint32_t rank, const CallNote& call);
  void withdraw_question(uint32_t rank);
  [[nodiscard]] bool disagrees(uint32_t rank, const CallNote& call) const;
  void check_left(uint32_t rank, const CallNote& call);
  void conclude_complete();
  void conclude(uint32_t sequence, const Inquiry& inquiry);
  void judge(const Status& verdict);

  const uint32_t nranks_;
  const std::function<std::string(uint32_t)> who_;
  std::map<uint32_t, CallNote> waits_;  // by rank: the call that it waits in
  std::map<uint32_t, uint32_t> left_;   // by rank: the last number that it had begun
  std::map<uint32_t, Inquiry> inquiries_;
  std::optional<Status> verdict_;
  bool judged_ = false;
  std::vector<Question> questions_;
  std::vector<Notice> notices_;
};

// "rank 1 has left: it was finalized or destroyed after operation number 3, but rank 0 waits for it in AllReduce (...)
// number 4".
[[nodiscard]] Status left_too_early(const std::string& who, uint32_t begun, const std::string& waiter,
                                    const CallNote& call);

}  // namespace ronde
