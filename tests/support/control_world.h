// The ranks of one communicator as control machines in virtual time, with all that can go wrong, drawn from one seed:
// connections deliver their bytes late and in pieces, hang, and close; ranks compute for long, are stopped, die, leave
// too early, abort, call something else, lose their network. No sockets, no threads, no clock: one seed repeats a run.
//
// The run is held to the rules that every situation has: see ControlWorld::violations().
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "bootstrap/frame.h"
#include "control/control_machine.h"

namespace ronde::testing {

// In one rank, to see that the rules find it.
enum class PlantedFault {
  none,
  lost_word,          // it never gets the first word about a failure (a shrink's decision)
  forgotten_refusal,  // it takes part in a shrink as if it had not refused
};

struct ControlWorldOptions {
  uint64_t seed = 1;
  uint32_t nranks = 0;       // 0: 2 to 64, drawn
  int soft_faults = 20;      // at least: stops, hung connections, late ranks; all of them pass
  bool hard_faults = true;   // then one to three that do not: death, silence, early goodbye, abort, another call
  bool shrinks = false;      // who has heard of a failure agrees with the others on who goes on, while more ranks die
  bool gives_up = false;     // some of them do not wait for its end
  bool real_frames = false;  // with MACs, as on a connection; else lengths only
  PlantedFault planted = PlantedFault::none;
};

class ControlWorld {
 public:
  explicit ControlWorld(const ControlWorldOptions& options);
  ~ControlWorld();

  // To the end: all is still.
  void run();

  // What went against the rules, with times and ranks; empty: nothing.
  [[nodiscard]] const std::vector<std::string>& violations() const { return violations_; }
  [[nodiscard]] uint32_t nranks() const { return nranks_; }
  [[nodiscard]] int faults() const { return faults_; }
  [[nodiscard]] const std::vector<std::string>& history() const { return history_; }
  // To see that the faults bite.
  struct Counts {
    int operations = 0;
    int warnings_checked = 0;
    int failures = 0;
    int decisions = 0;
    std::map<std::string, int> hard;  // by kind
  };
  [[nodiscard]] const Counts& counts() const { return counts_; }

 private:
  struct Rank;
  struct Pipe;
  using Seconds = double;

  // Chance.
  double real(double low, double high) { return std::uniform_real_distribution<>(low, high)(random_); }
  uint32_t number(uint32_t below) {
    return static_cast<uint32_t>(std::uniform_int_distribution<uint64_t>(0, below - 1)(random_));
  }
  bool one_in(uint32_t n) { return number(n) == 0; }

  // Time.
  void at(Time when, std::function<void()> what) { events_.emplace(when, std::move(what)); }
  void in(Seconds wait, std::function<void()> what) { at(after(wait), std::move(what)); }
  [[nodiscard]] Time after(Seconds wait) const {
    return now_ + std::chrono::duration_cast<Time::duration>(std::chrono::duration<double>(wait));
  }
  [[nodiscard]] Seconds clock() const { return std::chrono::duration<double>(now_ - start_).count(); }
  void note(const std::string& what);
  void violated(const std::string& what);

  // Connections.
  void send(uint32_t from, uint32_t to, const SharedMessage& message);
  void close_pipe(uint32_t from, uint32_t to, const Status& end);
  void deliver(uint32_t from, uint32_t to);
  std::vector<Bytes> complete_messages(Pipe& pipe, const Bytes& piece);
  bool is_dropped(uint32_t to, ByteView message);
  [[nodiscard]] static std::optional<WordKind> word_kind(ByteView message);

  // Ranks.
  [[nodiscard]] bool runs(uint32_t rank) const;
  void when_it_runs(uint32_t rank, const std::function<void()>& what);
  void serve(uint32_t rank);
  [[nodiscard]] CallNote call_of(uint32_t rank, uint32_t sequence) const;
  void begin_call(uint32_t rank);
  void look_at_wait(uint32_t rank, uint32_t sequence, Seconds waited);
  void check_warning(uint32_t rank, uint32_t sequence);
  void end_call(uint32_t rank, uint32_t sequence);
  void complete_if_all_have_begun(uint32_t sequence);
  void heard_failure(uint32_t rank);
  void destroy_later(uint32_t rank);
  void leave_now(uint32_t rank);

  // Shrinks.
  void begin_shrink_later(uint32_t rank);
  bool may_give_up(uint32_t rank);
  Status refuse(uint32_t rank, size_t number);
  void go_on_undecided_later(uint32_t rank);
  void give_up_later(uint32_t rank);
  std::optional<Status> refusal_of(uint32_t rank);
  bool dies_in_shrink(uint32_t rank, const Message& said);
  void look_at_shrink(uint32_t rank);
  void decided(uint32_t rank, const ShrinkDecision& decision);
  void check_shrinks();

  // Faults.
  void plan_faults();
  void soft_fault();
  void hard_fault();
  void stop(uint32_t rank, Seconds span);
  void hang(uint32_t a, uint32_t b, Seconds span);
  void leave_early(uint32_t rank);
  void die(uint32_t rank);
  void isolate(uint32_t rank);
  void expect_failure_by(Time latest, uint32_t culprit);
  void check_end();

  const ControlWorldOptions options_;
  std::mt19937_64 random_;
  uint32_t nranks_ = 0;
  const Time start_ = Time() + std::chrono::hours(1);
  Time now_ = start_;
  std::multimap<Time, std::function<void()>> events_;
  std::vector<std::unique_ptr<Rank>> ranks_;
  std::map<std::pair<uint32_t, uint32_t>, std::unique_ptr<Pipe>> pipes_;
  uint32_t last_call_ = 0;            // how many calls the ranks make
  std::map<uint32_t, uint32_t> odd_;  // by call: who calls something else
  std::set<uint32_t> culprits_;       // of hard faults
  std::optional<Time> first_hard_;
  Time impaired_until_{};            // of all hung connections and stopped ranks so far
  Time hung_until_{};                // of all hung connections so far
  Time impaired_change_{};           // when one began or ended, or a call ended
  std::optional<Time> expected_by_;  // all must have heard of a failure
  Time expected_slack_{};
  int faults_ = 0;
  int deaths_in_shrinks_ = 0;                     // that are still to come
  std::map<size_t, std::set<uint32_t>> refused_;  // by number of the agreement, from 0
  Time shrink_news_{};                            // when something came about that a shrink may wait for
  uint32_t meetings_ = 0;
  std::optional<std::pair<uint32_t, uint32_t>> dropped_word_;  // origin, number
  uint32_t faulty_ = 0;                                        // the rank with the planted fault
  std::vector<std::string> violations_;
  std::vector<std::string> history_;
  Counts counts_;
};

}  // namespace ronde::testing
