#include "ronderun/coordinator.h"

#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

extern char** environ;

namespace ronde::launcher {
namespace {

constexpr Milliseconds kAgentPatience{13'000};  // beyond the grace time: an agent tries for 10 s to kill
constexpr Milliseconds kOrphanPatience{10'000};
constexpr int kMostActivities = 16;       // lines: more than that nobody reads
constexpr Milliseconds kLastOutput{500};  // for a reader that may not read, when the job was ended from outside

std::string_view text_of(ByteView bytes) { return {reinterpret_cast<const char*>(bytes.data()), bytes.size()}; }

// What ranks on another host get from here.
std::vector<std::string> forwarded_environment(const Options& options, bool local) {
  std::vector<std::string> result;
  for (char** variable = environ; !local && *variable != nullptr; ++variable) {
    if (std::string_view(*variable).starts_with("RONDE_")) result.emplace_back(*variable);
  }
  for (const auto& [name, value] : options.environment) result.push_back(fmt::format("{}={}", name, value));
  return result;
}

std::string current_directory() {
  const std::unique_ptr<char, void (*)(void*)> path(getcwd(nullptr, 0), free);
  return path ? path.get() : "";
}

}  // namespace

Coordinator::Coordinator(const Options& options, const Inherited& inherited, std::string id_text,
                         std::optional<AgentProcess> local_agent)
    : options_(options),
      inherited_(inherited),
      id_text_(std::move(id_text)),
      local_agent_(std::move(local_agent)),
      signals_(reactor_, {SIGCHLD, SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGTSTP, SIGCONT, SIGTTIN, SIGUSR1, SIGUSR2},
               [this](int number) { signalled(number); }),
      output_(reactor_, options.nranks == 1 && !options.prefix, options.prefix,
              {[this] {
                 for (const auto& link : links_) link->pause(false);
               },
               [this](int stream, int error) { output_failed(stream, error); }}),
      input_(reactor_, [this](ByteView bytes) { input_read(bytes); }),
      tally_(options.nranks) {
  prctl(PR_SET_CHILD_SUBREAPER, 1);  // should this host's agent be killed
}

Coordinator::~Coordinator() = default;

Outcome Coordinator::run() {
  start_agents();
  if (options_.timeout) reactor_.call_at(Deadline::after(*options_.timeout), [this] { timed_out(); });
  while (!finished()) reactor_.run_once();
  judge(Time::max());
  if (!ending_ && tally_.left() > 0) {
    output_.message("an agent has ended without running its ranks; did somebody end it?");
    outcome_ = {1, 0};
  } else if (!ending_) {  // 0 unless ranks failed and the others went on
    outcome_ = {tally_.exit_code(), 0};
  }
  if (agent_of_this_host_lost_) kill_orphans();
  output_.end_all();
  flush_output();
  return outcome_;
}

void Coordinator::start_agents() {
  for (const auto& placement : options_.placements) {
    if (options_.verbose) {
      output_.message(fmt::format("ranks {} to {} on {}{}", placement.first_rank,
                                  placement.first_rank + placement.count - 1, placement.host,
                                  placement.local ? "" : fmt::format(" through {}", options_.rsh[0])));
    }
    if (placement.local) {
      connect(placement, std::move(*local_agent_));
      continue;
    }
    auto process = run_remote_agent(options_.rsh, placement.host, options_.remote_path, inherited_);
    if (!process.ok()) {
      output_.message(process.status().message());
      end_job({1, 0});
      return;
    }
    connect(placement, std::move(*process));
  }
}

void Coordinator::connect(const Placement& placement, AgentProcess process) {
  AgentLink::Events events;
  events.greeted = [this](AgentLink& link) { brief(link); };
  events.frame = [this](AgentLink& link, const Frame& frame) { frame_received(link, frame); };
  events.errors = [this, first = placement.first_rank](std::string_view bytes) {
    output_.add({-1 - first, 2}, bytes);  // a source of its own for each host
  };
  events.lost = [this](AgentLink& link, const std::string& why) { agent_lost(link, why); };
  links_.push_back(std::make_unique<AgentLink>(reactor_, placement, std::move(process), std::move(events)));
}

// Tells an agent that has answered what to run.
void Coordinator::brief(AgentLink& link) {
  if (ending_) {
    link.end_ranks(SIGTERM, options_.grace);
    return;
  }
  const auto& placement = link.placement();
  Job job;
  job.nranks = static_cast<uint32_t>(options_.nranks);
  job.first_rank = static_cast<uint32_t>(placement.first_rank);
  job.count = static_cast<uint32_t>(placement.count);
  job.grace_ms = static_cast<uint32_t>(options_.grace.count());
  job.host = placement.host;
  job.id_text = id_text_;
  job.working_directory = options_.working_directory;
  if (job.working_directory.empty() && !placement.local) job.working_directory = current_directory();
  job.command = options_.command;
  job.environment = forwarded_environment(options_, placement.local);
  if (placement.first_rank == 0) {
    // A terminal would stop a rank that reads it: ranks are not in its foreground.
    job.input = placement.local && isatty(0) == 0 ? InputMode::inherited : InputMode::forwarded;
  }
  link.send(FrameType::job, encode_job(job));
  if (job.input != InputMode::forwarded) return;
  input_link_ = &link;
  input_.start();
}

void Coordinator::frame_received(AgentLink& link, const Frame& frame) {
  Reader reader(frame.body);
  switch (frame.type) {
    case FrameType::output: {
      const Source source{reader.number<int32_t>(), reader.number<int32_t>()};
      if (frame.body.size() > 8) output_.add(source, text_of(frame.body.subspan(8)));
      if (!output_.full()) break;
      for (const auto& each : links_) each->pause(true);
      break;
    }
    case FrameType::output_end: {
      const auto rank = reader.number<int32_t>();
      output_.end({rank, reader.number<int32_t>()});
      break;
    }
    case FrameType::started: {
      const auto rank = reader.number<int32_t>();
      if (options_.verbose) {
        output_.message(fmt::format("rank {} is pid {} on {}", rank, reader.number<int32_t>(), link.placement().host));
      }
      break;
    }
    case FrameType::ended: rank_ended(link, reader); break;
    case FrameType::failed: {
      const auto code = reader.number<int32_t>();
      if (!ending_) output_.message(reader.text());
      end_job({code, 0});
      break;
    }
    case FrameType::doing: show_activities(read_list(reader)); break;
    case FrameType::warning: output_.message(reader.text()); break;
    case FrameType::input_taken: input_.taken(static_cast<size_t>(reader.number<int32_t>())); break;
    default: break;
  }
}

void Coordinator::rank_ended(AgentLink& link, Reader& reader) {
  RankEnd end;
  end.rank = reader.number<int32_t>();
  end.pid = reader.number<int32_t>();
  end.status = reader.number<int32_t>();
  end.activities = read_list(reader);
  end.host = link.placement().host;
  tally_.rank_ended(link.placement().first_rank, end);
  if (options_.verbose) output_.message(end.describe());
  if (end.rank == 0) input_.stop();
  if (ending_) return;
  if (options_.keep_going) {
    if (end.failed()) show_failure(end);
    return;
  }
  const Time now = Clock::now();
  if (end.failed()) {
    blame_.add(std::move(end), now);
    reactor_.call_at(blame_.due(), [this] { judge(Clock::now()); });
  }
  judge(tally_.left() == 0 ? Time::max() : now);
}

void Coordinator::judge(Time now) {
  if (ending_) return;
  const auto guilty = blame_.verdict(now);
  if (!guilty) return;
  if (!options_.verbose) output_.message(guilty->describe());
  if (options_.verbose) output_.message(fmt::format("rank {} failed first; ending the job", guilty->rank));
  show_activities(guilty->activities);
  end_job({guilty->exit_code(), 0});
}

void Coordinator::show_failure(const RankEnd& end) {
  if (!options_.verbose) output_.message(end.describe());
  show_activities(end.activities);
}

// Its ranks are dead, or cannot be heard of any more.
bool Coordinator::go_on_without(AgentLink& link, const std::string& why) {
  // Not if the job has not even begun there.
  if (!options_.keep_going || ending_ || link.placement().local || !link.has_greeted()) return false;
  const int lost = tally_.host_lost(link.placement().first_rank, link.placement().count);
  output_.message(fmt::format("{}; {} of its ranks lost", why, lost));
  if (input_link_ == &link) input_.stop();
  return true;
}

void Coordinator::show_activities(const std::vector<std::string>& activities) {
  for (const auto& activity : activities) {
    if (activities_shown_ == kMostActivities) output_.message("what the other ranks do is not shown");
    if (activities_shown_++ >= kMostActivities) return;
    output_.message(activity);
  }
}

void Coordinator::agent_lost(AgentLink& link, const std::string& why) {
  if (go_on_without(link, why)) return;
  if (link.placement().local) agent_of_this_host_lost_ = true;
  if (!ending_) output_.message(why);
  end_job({1, 0});
}

void Coordinator::input_read(ByteView bytes) {
  if (input_link_ == nullptr) return;
  input_link_->send(bytes.empty() ? FrameType::input_end : FrameType::input, bytes);
}

void Coordinator::output_failed(int stream, int error) {
  if (ending_) return;
  if (error == EPIPE && !inherited_.sigpipe_ignored) {
    end_job({0, SIGPIPE});  // as any program whose reader has gone
    return;
  }
  output_.message(fmt::format("cannot write to standard {}: {}", stream == 1 ? "output" : "error", strerror(error)));
  end_job({1, 0});
}

void Coordinator::timed_out() {
  if (ending_) return;
  output_.message(fmt::format("the job has not ended within {} s (--timeout); ending it",
                              static_cast<double>(options_.timeout->count()) / 1000));
  for (const auto& link : links_) link->send(FrameType::ask);
  output_.discard_when_full();
  end_job({124, 0});
}

void Coordinator::signalled(int number) {
  switch (number) {
    case SIGCHLD: reap(); break;
    case SIGTTIN: break;  // blocked so that reading the terminal in the background fails instead of stopping
    case SIGTSTP:
      forward_signal(SIGSTOP);  // not SIGTSTP: in sessions without a terminal it has no effect
      suspend_self();
      forward_signal(SIGCONT);
      break;
    case SIGCONT:
    case SIGUSR1:
    case SIGUSR2: forward_signal(number); break;
    default: interrupted(number);
  }
}

void Coordinator::interrupted(int number) {
  output_.discard_when_full();
  if (!ending_) {
    output_.message(fmt::format("{}: ending {} {}; what is left after {} s is killed (--grace)",
                                number == SIGINT ? "interrupted" : strsignal(number), tally_.left(),
                                tally_.left() == 1 ? "rank" : "ranks",
                                static_cast<double>(options_.grace.count()) / 1000));
    end_job({0, number}, number);
  } else if (number == SIGINT || number == SIGQUIT) {
    outcome_ = {0, number};
    for (const auto& link : links_) link->kill_ranks();
  } else {
    forward_signal(number);
  }
}

void Coordinator::forward_signal(int number) {
  Writer writer;
  writer.number(static_cast<int32_t>(number));
  for (const auto& link : links_) link->send(FrameType::signal, writer.view());
}

void Coordinator::reap() {
  int status = 0;
  for (pid_t pid = waitpid(-1, &status, WNOHANG); pid > 0; pid = waitpid(-1, &status, WNOHANG)) {
    for (const auto& link : links_) {
      if (link->pid() == pid) link->exited(status);
    }
  }
}

void Coordinator::end_job(Outcome outcome, int number) {
  if (ending_) return;
  ending_ = true;
  outcome_ = outcome;
  input_.stop();
  for (const auto& link : links_) link->end_ranks(number, options_.grace);
  reactor_.call_at(Deadline::after(options_.grace + kAgentPatience), [this] {
    for (const auto& link : links_) link->give_up();
  });
}

bool Coordinator::finished() const {
  return std::all_of(links_.begin(), links_.end(), [](const auto& link) { return link->finished(); });
}

// The agent that had them was killed, so they have become this process's own.
void Coordinator::kill_orphans() {
  const auto deadline = Deadline::after(kOrphanPatience);
  for (auto left = descendants(); !left.empty() && !deadline.passed(); left = descendants()) {
    for (const auto& process : left) signal_process(process, SIGKILL);
    reactor_.run_once(Deadline::after(Milliseconds(20)));
  }
}

void Coordinator::flush_output() {
  const auto deadline = output_.discarding() ? Deadline::after(kLastOutput) : Deadline::never();
  while (!output_.idle() && !deadline.passed()) {
    reactor_.run_once(output_.discarding() ? Deadline::after(kLastOutput) : Deadline::never());
  }
}

}  // namespace ronde::launcher
