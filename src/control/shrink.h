// How the ranks that are left agree on who goes on without the others, although any of them may die at any step. The
// lowest rank that is not excluded asks all for a promise to its ballot; once everybody who is not has promised it
// decides, or repeats what somebody had heard decided before; who has promised a higher ballot hears no lower one. So
// whatever a rank that lives has taken for decided stays decided. tests/model/shrink.pml is the model of this.
//
// One rank's side, for all shrinks of a communicator, one after the other. A state machine without sockets and clocks.
#pragma once

#include <deque>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "base/deadline.h"
#include "control/messages.h"

namespace ronde {

class Shrink {
 public:
  // An answer to a question that came as the word `word` of `origin`.
  struct Reply {
    uint32_t origin;
    uint32_t word;
    ShrinkAnswer answer;
  };

  Shrink(uint32_t rank, uint32_t nranks) : rank_(rank), nranks_(nranks) {}

  // Inputs of this rank. It asks to go on without those ranks. A shrink before that is still undecided is given up, and
  // the new one begins once it has ended. refusal: it takes part only to say that nobody is to go on, and why.
  void begin(const std::set<uint32_t>& without, Time now, const std::optional<Status>& refusal = std::nullopt);
  // Where the members meet, or why this rank has no place for it. Wanted while wants_meeting().
  void meet_at(const Result<Bytes>& meeting, Time now);
  // It waits no more: nobody is to go on, unless that was decided meanwhile. It answers and asks as before until then.
  void give_up(const Status& why, Time now);

  // Inputs from others. gone: a rank that has died, or left.
  void gone(uint32_t rank, Time now);
  void asked(uint32_t origin, uint32_t word, const ShrinkQuestion& question, Time now);
  void answered(uint32_t who, const ShrinkAnswer& answer, Time now);
  void committed(const ShrinkCommit& commit, Time now);
  void advance(Time now);
  [[nodiscard]] Deadline next_deadline() const;

  // Outputs.
  [[nodiscard]] bool active() const { return number_ != 0 && decision(number_) == nullptr; }
  [[nodiscard]] bool wants_meeting() const { return active() && current_.meeting_is_due; }
  // How many begin() there were, and what the one with this number, from 1, has come to; null: nothing yet.
  [[nodiscard]] uint32_t begun() const { return number_ + static_cast<uint32_t>(next_.size()); }
  [[nodiscard]] const ShrinkDecision* decision(uint32_t number) const;
  // Of the last begin().
  [[nodiscard]] const ShrinkDecision* decision() const { return decision(begun()); }
  // Whom this rank waits for, while it is active: those that have not answered, as far as it knows, or the one that
  // asks.
  [[nodiscard]] std::vector<uint32_t> missing() const;
  [[nodiscard]] std::vector<Bytes> take_words() { return std::exchange(words_, {}); }
  [[nodiscard]] std::vector<Reply> take_replies() { return std::exchange(replies_, {}); }

 private:
  struct Pending {
    uint32_t origin = 0;
    uint32_t word = 0;
    ShrinkQuestion question;
  };
  // How a shrink has ended here.
  struct Outcome {
    ShrinkDecision decision;
    bool agreed = true;  // else this rank has ended by itself: for the others it has refused
    Ballot promised;     // then it answers with a promise, too
  };
  struct Next {
    std::set<uint32_t> without;
    std::optional<Status> refusal;
  };
  // What belongs to the shrink number_.
  struct Current {
    std::set<uint32_t> excluded;
    Ballot promised;
    bool asking = false;
    Ballot ballot;  // its own, while it asks
    Time ask_again{};
    std::set<uint32_t> answered;
    std::optional<ShrinkDecision> heard;  // that somebody takes for decided
    // The same, but told under a lower ballot than this rank has promised to, by one that may have left the
    // communicator for what was decided: counts where nobody who is left takes anything else for decided.
    std::optional<ShrinkCommit> overheard;
    std::optional<Status> refused;       // by this rank, or by one that has answered
    std::optional<Pending> last_asked;   // the question that this rank has answered last
    std::vector<uint32_t> told_missing;  // by it
    bool meeting_is_due = false;
  };

  [[nodiscard]] std::vector<uint32_t> members() const;
  [[nodiscard]] std::set<uint32_t> unreachable() const;
  void exclude(const std::set<uint32_t>& ranks);
  void refuse(const Status& why);
  void start(const Next& next, Time now);
  void start_next(Time now);
  void take_question(const Pending& pending, Time now);
  void take_commit(const ShrinkCommit& commit);
  void check_left();
  void look(Time now);
  void ask(Time now);
  void check_complete();
  void commit(ShrinkDecision decision);
  void end(ShrinkDecision decision);
  void end_alone(const Status& why);
  void reply(const Pending& pending);

  const uint32_t rank_;
  const uint32_t nranks_;
  std::set<uint32_t> gone_;
  uint32_t number_ = 0;  // of the one that is agreed on, or was last
  Current current_;
  std::deque<Next> next_;                 // begun while that is undecided
  std::map<uint32_t, Outcome> outcomes_;  // by number; kept for ranks that ask late
  std::map<uint32_t, Pending> pending_;   // questions about shrinks that this rank has not begun

  std::vector<Bytes> words_;
  std::vector<Reply> replies_;
};

}  // namespace ronde
