// ronderun's end of one agent: the process that leads to it (a forked copy, or a remote shell) and the channel.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "base/status.h"
#include "ronderun/channel.h"
#include "ronderun/hosts.h"
#include "ronderun/process.h"
#include "ronderun/protocol.h"
#include "ronderun/reactor.h"

namespace ronde::launcher {

// A process that is an agent or leads to one.
struct AgentProcess {
  pid_t pid = -1;
  Fd in;      // what it says
  Fd out;     // what it hears
  Fd errors;  // standard error of a remote shell; not valid for a forked agent
};
// Forks: the child is the agent and never returns. To be called while the process has one thread.
Result<AgentProcess> fork_agent(const Inherited& inherited);
// Runs `rsh... host remote_path --agent`, each word quoted for a shell if it needs that.
Result<AgentProcess> run_remote_agent(const std::vector<std::string>& rsh, const std::string& host,
                                      const std::string& remote_path, const Inherited& inherited);

class AgentLink {
 public:
  struct Events {
    std::function<void(AgentLink&)> greeted;
    std::function<void(AgentLink&, const Frame&)> frame;
    std::function<void(std::string_view)> errors;       // what the remote shell writes to standard error
    std::function<void(AgentLink&, std::string)> lost;  // it ended before it was done; why
  };
  AgentLink(Reactor& reactor, Placement placement, AgentProcess process, Events events);
  ~AgentLink();
  AgentLink(const AgentLink&) = delete;
  AgentLink& operator=(const AgentLink&) = delete;

  [[nodiscard]] const Placement& placement() const { return placement_; }
  [[nodiscard]] pid_t pid() const { return process_.pid; }

  void send(FrameType type, ByteView body = {});
  void pause(bool paused);
  // The job is to end. An agent is told; a remote shell that has not led to one yet is ended.
  void end_ranks(int number, Milliseconds grace);
  void kill_ranks();
  // Its process was reaped.
  void exited(int status);
  void give_up();  // whatever happens there, do not wait for it any longer than it takes to end the process

  // Nothing more will come, and its process has ended.
  [[nodiscard]] bool finished() const { return exited_ && over_; }
  [[nodiscard]] bool was_lost() const { return lost_; }
  [[nodiscard]] bool has_greeted() const { return greeting_.state() == GreetingFinder::State::found; }

 private:
  void received(ByteView bytes);
  void read_errors();
  void settle();
  void check_lost();
  void insist();

  Reactor& reactor_;
  Placement placement_;
  AgentProcess process_;
  Events events_;
  Channel channel_;
  GreetingFinder greeting_;
  FrameParser parser_;
  bool over_ = false;  // it is done, or the channel has closed
  bool done_ = false;
  bool exited_ = false;
  bool lost_ = false;
  bool settling_ = false;
  int insisted_ = 0;
  int status_ = 0;
};

}  // namespace ronde::launcher
