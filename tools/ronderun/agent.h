// The agent: runs the ranks of one host, sees to it that none of them and none of their descendants survives, and tells
// ronderun over a channel (protocol.h). ronderun has one on each host, also on its own: then a forked copy of itself.
#pragma once

#include <initializer_list>
#include <memory>
#include <string>
#include <vector>

#include "ronderun/channel.h"
#include "ronderun/process.h"
#include "ronderun/protocol.h"
#include "ronderun/rank.h"
#include "ronderun/reactor.h"
#include "ronderun/signals.h"

namespace ronde::launcher {

class Agent {
 public:
  // in, out: the channel to ronderun.
  Agent(Fd in, Fd out, const Inherited& inherited);

  // Until nothing of the job is left on this host. Returns the exit code.
  int run();

 private:
  enum class Phase { waiting, running, ending, over };

  // Orders from ronderun.
  void received(ByteView bytes);
  void obey(const Frame& frame);
  void start(ByteView body);
  void start_ranks();
  Result<Fd> open_input(uint32_t rank);
  void take_in(Rank started);
  void give_up(int exit_code, const std::string& why);
  void connection_lost();

  // Ranks and what they leave behind.
  void signalled(int number);
  void reap();
  void rank_ended(Rank& rank, int status);
  void tell_activities();
  void end_ranks(int number, Milliseconds grace);
  void kill_all();
  void kill_round();
  void signal_groups(int number);
  void signal_strays(int number);
  void finish_if_empty();
  void finish();

  // Output and input.
  void send_numbers(FrameType type, std::initializer_list<int32_t> numbers);
  bool forward_output(Rank& rank, int stream);
  void drain(Rank& rank, int stream);
  void set_paused(bool paused);

  const Inherited inherited_;
  Reactor reactor_;
  Channel channel_;
  std::unique_ptr<SignalSource> signals_;
  FrameParser parser_;
  Job job_;
  Phase phase_ = Phase::waiting;
  std::vector<std::unique_ptr<Rank>> ranks_;
  size_t running_ = 0;
  InputPipe input_;
  bool childless_ = true;  // no child, so no descendant: orphans become children
  bool grace_running_ = false;
  bool strays_asked_ = false;  // descendants outside the ranks' groups have had SIGTERM
  bool killing_ = false;
  Deadline give_up_at_ = Deadline::never();
};

}  // namespace ronde::launcher
