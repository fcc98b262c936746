// Runs one job from start to end: starts the agents, merges the output, passes signals and input on, decides who is to
// blame for a failure and how ronderun ends.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "ronderun/agent_link.h"
#include "ronderun/blame.h"
#include "ronderun/input.h"
#include "ronderun/options.h"
#include "ronderun/output.h"
#include "ronderun/reactor.h"
#include "ronderun/signals.h"
#include "ronderun/tally.h"

namespace ronde::launcher {

// How ronderun ends: by a signal if there is one.
struct Outcome {
  int exit_code = 0;
  int signal = 0;
};

class Coordinator {
 public:
  // local_agent: forked before, if there are ranks on this host. Both references must stay valid.
  Coordinator(const Options& options, const Inherited& inherited, std::string id_text,
              std::optional<AgentProcess> local_agent);
  ~Coordinator();

  Outcome run();

 private:
  void start_agents();
  void connect(const Placement& placement, AgentProcess process);
  void brief(AgentLink& link);

  void frame_received(AgentLink& link, const Frame& frame);
  void rank_ended(AgentLink& link, Reader& reader);
  void judge(Time now);
  void show_failure(const RankEnd& end);
  bool go_on_without(AgentLink& link, const std::string& why);
  void show_activities(const std::vector<std::string>& activities);
  void agent_lost(AgentLink& link, const std::string& why);
  void input_read(ByteView bytes);
  void output_failed(int stream, int error);
  void timed_out();

  void signalled(int number);
  void interrupted(int number);
  void forward_signal(int number);
  void reap();
  void end_job(Outcome outcome, int number = SIGTERM);
  [[nodiscard]] bool finished() const;
  void kill_orphans();
  void flush_output();

  const Options& options_;
  const Inherited& inherited_;
  std::string id_text_;
  std::optional<AgentProcess> local_agent_;
  Reactor reactor_;
  SignalSource signals_;  // before the output: its threads must have these signals blocked
  Output output_;
  InputForwarder input_;
  AgentLink* input_link_ = nullptr;  // leads to rank 0
  std::vector<std::unique_ptr<AgentLink>> links_;
  Blame blame_;
  Tally tally_;
  int activities_shown_ = 0;
  bool ending_ = false;
  bool agent_of_this_host_lost_ = false;
  Outcome outcome_;
};

}  // namespace ronde::launcher
