#include "ronderun/agent_link.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <exception>

#include "base/settings.h"
#include "ronderun/agent.h"
#include "ronderun/blame.h"
#include "ronderun/options.h"

extern char** environ;

namespace ronde::launcher {
namespace {

constexpr Milliseconds kSettleTime{2000};  // between the first and the last sign that an agent has ended

struct Pipes {
  Fd to_reading, to_writing, from_reading, from_writing, errors_reading, errors_writing;
};

Result<Pipes> make_pipes() {
  std::array<int[2], 3> ends;
  for (auto& pair : ends) {
    if (pipe2(pair, O_CLOEXEC) != 0) return system_error("no pipe to an agent", errno);
  }
  return Pipes{Fd(ends[0][0]), Fd(ends[0][1]), Fd(ends[1][0]), Fd(ends[1][1]), Fd(ends[2][0]), Fd(ends[2][1])};
}

}  // namespace

Result<AgentProcess> fork_agent(const Inherited& inherited) {
  RONDE_ASSIGN(auto pipes, make_pipes());
  const pid_t pid = fork();
  if (pid < 0) return system_error("no new process for the agent of this host", errno);
  if (pid == 0) {
    // Out of reach of the terminal: its signals come through ronderun.
    setsid();
    prctl(PR_SET_NAME, "ronderun-agent");
    pipes.to_writing.reset();  // else it would not notice that ronderun has gone
    pipes.from_reading.reset();
    pipes.errors_reading.reset();
    pipes.errors_writing.reset();
    try {
      _exit(Agent(std::move(pipes.to_reading), std::move(pipes.from_writing), inherited).run());
    } catch (const std::exception& error) {
      fmt::print(stderr, "ronderun: the process that runs the ranks of this host failed: {}\n", error.what());
      _exit(1);
    }
  }
  return AgentProcess{pid, std::move(pipes.from_reading), std::move(pipes.to_writing), Fd()};
}

Result<AgentProcess> run_remote_agent(const std::vector<std::string>& rsh, const std::string& host,
                                      const std::string& remote_path, const Inherited& inherited) {
  RONDE_ASSIGN(auto pipes, make_pipes());
  const auto program = find_program(rsh[0], environment_variable("PATH").value_or("/usr/bin:/bin"));
  Launch launch;
  launch.path = program.path;
  launch.arguments = rsh;
  launch.arguments.insert(launch.arguments.end(), {host, quote_word(remote_path), "--agent"});
  for (char** variable = environ; *variable != nullptr; ++variable) launch.environment.emplace_back(*variable);
  launch.in = pipes.to_reading.get();
  launch.out = pipes.from_writing.get();
  launch.error = pipes.errors_writing.get();
  // Without the terminal: a remote shell that would ask for a password says so instead of stopping in the background.
  launch.new_session = true;
  launch.death_signal = SIGTERM;
  const auto launched = program.error == 0 ? ronde::launcher::launch(launch, inherited) : Launched{-1, program.error};
  if (launched.error != 0) {
    return system_error(
        fmt::format("cannot run '{}' to reach {}; choose another remote shell with --rsh", rsh[0], host),
        launched.error);
  }
  return AgentProcess{launched.pid, std::move(pipes.from_reading), std::move(pipes.to_writing),
                      std::move(pipes.errors_reading)};
}

AgentLink::AgentLink(Reactor& reactor, Placement placement, AgentProcess process, Events events)
    : reactor_(reactor),
      placement_(std::move(placement)),
      process_(std::move(process)),
      events_(std::move(events)),
      channel_(reactor, std::move(process_.in), std::move(process_.out),
               {[this](ByteView bytes) { received(bytes); }, [this] { settle(); }, {}}) {
  if (!process_.errors.valid()) return;
  fcntl(process_.errors.get(), F_SETFL, O_NONBLOCK);
  reactor_.watch_input(process_.errors.get(), [this] { read_errors(); });
}

AgentLink::~AgentLink() {
  if (process_.errors.valid()) reactor_.forget(process_.errors.get());
}

void AgentLink::send(FrameType type, ByteView body) { channel_.send(make_frame(type, body)); }

void AgentLink::pause(bool paused) { channel_.pause(paused); }

void AgentLink::end_ranks(int number, Milliseconds grace) {
  if (!exited_) kill(process_.pid, SIGCONT);  // somebody may have stopped it
  if (greeting_.state() != GreetingFinder::State::found) {
    if (!exited_) kill(process_.pid, SIGTERM);
    return;
  }
  Writer writer;
  writer.number(static_cast<int32_t>(number)).number(static_cast<uint32_t>(grace.count()));
  send(FrameType::terminate, writer.view());
}

void AgentLink::kill_ranks() {
  if (!exited_) kill(process_.pid, SIGCONT);
  if (greeting_.state() == GreetingFinder::State::found) {
    send(FrameType::kill);
  } else if (!exited_) {
    kill(process_.pid, SIGKILL);
  }
}

void AgentLink::received(ByteView bytes) {
  using State = GreetingFinder::State;
  if (greeting_.state() == State::searching) {
    bytes = bytes.subspan(greeting_.feed(bytes));
    if (greeting_.state() == State::searching) return;
    if (greeting_.state() != State::found) {
      channel_.close();
      settle();
      return;
    }
    events_.greeted(*this);
  }
  parser_.feed(bytes);
  while (const auto frame = parser_.next()) {
    if (frame->type == FrameType::done) {
      done_ = true;
      settle();
    } else {
      events_.frame(*this, *frame);
    }
  }
  if (!parser_.broken()) return;
  channel_.close();
  settle();
}

void AgentLink::read_errors() {
  std::array<char, 4096> buffer;
  const ssize_t size = ::read(process_.errors.get(), buffer.data(), buffer.size());
  if (size > 0) {
    events_.errors({buffer.data(), static_cast<size_t>(size)});
  } else if (size == 0) {
    reactor_.forget(process_.errors.get());
    process_.errors.reset();
  }
}

void AgentLink::exited(int status) {
  if (process_.errors.valid()) read_errors();  // its last words before ours
  exited_ = true;
  status_ = status;
  settle();
}

void AgentLink::settle() {
  over_ = done_ || channel_.closed();
  if (!settling_) {
    settling_ = true;
    reactor_.call_at(Deadline::after(kSettleTime), [this] { insist(); });
  }
  if (finished() && !done_) check_lost();
}

// One sign of the end came, and the others did not follow: a process that does not end, or a channel that somebody else
// holds open.
void AgentLink::insist() {
  if (exited_) {
    channel_.close();
    settle();
  } else if (process_.pid > 0) {
    kill(process_.pid, insisted_++ == 0 ? SIGTERM : SIGKILL);
    reactor_.call_at(Deadline::after(kSettleTime), [this] { insist(); });
  }
}

void AgentLink::give_up() {
  if (finished()) return;
  channel_.close();
  over_ = true;
  insist();
}

void AgentLink::check_lost() {
  if (lost_) return;
  lost_ = true;
  using State = GreetingFinder::State;
  const auto& host = placement_.host;
  if (greeting_.state() == State::mismatch) {
    events_.lost(*this, fmt::format("ronderun on {} is of another version ('{}' instead of '{}'); choose one with "
                                    "--remote-path",
                                    host, greeting_.line(), greeting().substr(0, greeting().size() - 1)));
  } else if (greeting_.state() != State::found) {
    events_.lost(*this, fmt::format("could not reach {}: the remote shell {} before ronderun answered there; check "
                                    "--rsh and --remote-path",
                                    host, describe_status(status_)));
  } else {
    events_.lost(
        *this, fmt::format("lost {} rank{} on {}: the {} {}", placement_.count, placement_.count == 1 ? "" : "s", host,
                           placement_.local ? "process that runs them" : "remote shell", describe_status(status_)));
  }
}

}  // namespace ronde::launcher
