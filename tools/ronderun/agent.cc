#include "ronderun/agent.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "ronderun/recorder.h"

extern char** environ;

namespace ronde::launcher {
namespace {

constexpr Milliseconds kLostGrace{1000};    // nobody waits for these ranks any more
constexpr Milliseconds kKillInterval{100};  // a killed process may just have made another
constexpr Milliseconds kKillPatience{10'000};
constexpr size_t kReadBytes = 64 << 10;
constexpr int kMaxDrains = 17;  // a pipe holds 16 pages, which have at most 64 KiB

std::string why_not_run(const std::string& name, const std::string& host, int error) {
  if (error == ENOENT && name.find('/') == std::string::npos) {
    const bool here = access(name.c_str(), X_OK) == 0;
    return fmt::format("there is no program '{}' on {}: no folder of PATH has it; {}", name, host,
                       here ? fmt::format("for the one in this folder write ./{}", name) : "name it with its path");
  }
  return fmt::format("cannot run '{}' on {}: {}", name, host, strerror(error));
}

// Two pipes and a black box for each rank, and what is open anyway.
Status check_open_files(const Job& job) {
  rlimit limit{};
  getrlimit(RLIMIT_NOFILE, &limit);
  const rlim_t need = 3 * job.count + 40;
  if (limit.rlim_cur >= need) return {};
  return {rondeSystemError, fmt::format("{} ranks on {} need {} open files and the limit is {}; raise it with "
                                        "'ulimit -n {}'",
                                        job.count, job.host, need, limit.rlim_cur, need)};
}

}  // namespace

Agent::Agent(Fd in, Fd out, const Inherited& inherited)
    : inherited_(inherited),
      channel_(
          reactor_, std::move(in), std::move(out),
          {[this](ByteView bytes) { received(bytes); }, [this] { connection_lost(); }, [this] { set_paused(false); }}),
      input_(reactor_) {
  // Orphans of the ranks come to this process, also those in sessions of their own.
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  signals_ = std::make_unique<SignalSource>(reactor_, std::initializer_list<int>{SIGCHLD, SIGTERM, SIGINT, SIGHUP},
                                            [this](int number) { signalled(number); });
}

int Agent::run() {
  const auto hello = greeting();
  channel_.send(Bytes(reinterpret_cast<const std::byte*>(hello.data()),
                      reinterpret_cast<const std::byte*>(hello.data() + hello.size())));
  while (phase_ != Phase::over) reactor_.run_once();
  while (!channel_.idle()) reactor_.run_once();
  return 0;
}

void Agent::received(ByteView bytes) {
  parser_.feed(bytes);
  while (const auto frame = parser_.next()) obey(*frame);
  if (parser_.broken()) connection_lost();
}

void Agent::obey(const Frame& frame) {
  Reader reader(frame.body);
  switch (frame.type) {
    case FrameType::job: start(frame.body); break;
    case FrameType::signal: signal_groups(reader.number<int32_t>()); break;
    case FrameType::terminate: {
      const auto number = reader.number<int32_t>();
      end_ranks(number, Milliseconds(reader.number<uint32_t>()));
      break;
    }
    case FrameType::kill:
      end_ranks(SIGKILL, Milliseconds(0));
      kill_all();
      break;
    case FrameType::ask: tell_activities(); break;
    case FrameType::input: input_.write(frame.body); break;
    case FrameType::input_end: input_.finish(); break;
    default: break;
  }
}

void Agent::start(ByteView body) {
  auto job = decode_job(body);
  if (!job || phase_ != Phase::waiting) return;
  job_ = std::move(*job);
  phase_ = Phase::running;
  const auto files = check_open_files(job_);
  if (!files.ok()) {
    give_up(1, files.message());
  } else if (!job_.working_directory.empty() && chdir(job_.working_directory.c_str()) != 0) {
    give_up(1, fmt::format("cannot enter the directory '{}' on {}: {}; choose one with --wdir", job_.working_directory,
                           job_.host, strerror(errno)));
  } else {
    start_ranks();
  }
  finish_if_empty();
}

void Agent::start_ranks() {
  RankPlan plan{job_, {}, merge_environment(environ, job_.environment), inherited_};
  std::string search_path = "/usr/local/bin:/usr/bin:/bin";
  for (const auto& text : plan.environment) {
    if (text.starts_with("PATH=")) search_path = text.substr(5);
  }
  const auto program = find_program(job_.command[0], search_path);
  plan.path = program.path;
  int error = program.error;
  for (uint32_t local = 0; local < job_.count && error == 0; ++local) {
    auto input = open_input(job_.first_rank + local);
    if (!input.ok()) return give_up(1, input.status().message());
    auto started = start_rank(plan, local, input->get());
    if (!started.failed.ok()) {
      return give_up(1, fmt::format("cannot start rank {} on {}: {}", job_.first_rank + local, job_.host,
                                    started.failed.message()));
    }
    childless_ = false;
    error = started.exec_error;
    if (error == 0) take_in(std::move(started.rank));
  }
  if (error != 0) give_up(error == ENOENT ? 127 : 126, why_not_run(job_.command[0], job_.host, error));
}

// What a rank reads: a copy of the agent's own standard input, a pipe, or nothing.
Result<Fd> Agent::open_input(uint32_t rank) {
  const auto mode = rank == 0 ? job_.input : InputMode::none;
  int ends[2] = {-1, -1};
  if (mode == InputMode::inherited) ends[0] = fcntl(0, F_DUPFD_CLOEXEC, 3);
  if (mode == InputMode::none) ends[0] = open("/dev/null", O_RDONLY | O_CLOEXEC);
  if (mode == InputMode::forwarded && pipe2(ends, O_CLOEXEC) == 0) {
    input_.open(Fd(ends[1]), [this](size_t bytes) { send_numbers(FrameType::input_taken, {int32_t(bytes)}); });
  }
  if (ends[0] >= 0) return Fd(ends[0]);
  return system_error(fmt::format("no standard input for rank {} on {}", rank, job_.host), errno);
}

void Agent::take_in(Rank started) {
  auto& rank = *ranks_.emplace_back(std::make_unique<Rank>(std::move(started)));
  ++running_;
  send_numbers(FrameType::started, {rank.rank, rank.pid});
  for (const int stream : {1, 2}) {
    reactor_.watch_input(rank.stream(stream).get(), [this, &rank, stream] { forward_output(rank, stream); });
  }
}

void Agent::give_up(int exit_code, const std::string& why) {
  Writer writer;
  writer.number(static_cast<int32_t>(exit_code)).text(why);
  channel_.send(make_frame(FrameType::failed, writer.view()));
  end_ranks(SIGTERM, Milliseconds(job_.grace_ms));
}

void Agent::connection_lost() {
  channel_.close();
  set_paused(false);
  end_ranks(SIGTERM, std::min(kLostGrace, Milliseconds(job_.grace_ms)));
  finish_if_empty();
}

void Agent::signalled(int number) {
  if (number == SIGCHLD) {
    reap();
  } else {  // meant for this process alone: the terminal's and ronderun's come through the channel
    end_ranks(SIGTERM, std::min(kLostGrace, Milliseconds(job_.grace_ms)));
    finish_if_empty();
  }
}

void Agent::reap() {
  int status = 0;
  pid_t pid = 0;
  while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
    for (const auto& rank : ranks_) {
      if (rank->running && rank->pid == pid) rank_ended(*rank, status);
    }
  }
  childless_ = pid < 0 && errno == ECHILD;
  finish_if_empty();
}

void Agent::rank_ended(Rank& rank, int status) {
  rank.running = false;
  --running_;
  for (const int stream : {1, 2}) drain(rank, stream);  // what it said last comes before its end
  if (rank.rank == 0) input_.close();
  Writer writer;
  for (const int number : {rank.rank, static_cast<int>(rank.pid), status}) writer.number(static_cast<int32_t>(number));
  write_list(writer, status == 0 ? std::vector<std::string>() : read_activities(rank.rank, rank.black_box));
  channel_.send(make_frame(FrameType::ended, writer.view()));
  rank.black_box.reset();
}

void Agent::tell_activities() {
  for (const auto& rank : ranks_) {
    if (!rank->running) continue;
    Writer writer;
    write_list(writer, read_activities(rank->rank, rank->black_box));
    channel_.send(make_frame(FrameType::doing, writer.view()));
  }
}

void Agent::end_ranks(int number, Milliseconds grace) {
  if (phase_ == Phase::over) return;
  phase_ = Phase::ending;
  signal_groups(number);
  signal_groups(SIGCONT);  // those that are stopped must hear it too
  if (number == SIGTERM) {
    strays_asked_ = true;
    signal_strays(number);
  }
  if (grace_running_) return;
  grace_running_ = true;
  reactor_.call_at(Deadline::after(grace), [this] { kill_all(); });
}

void Agent::kill_all() {
  if (killing_) return;
  killing_ = true;
  give_up_at_ = Deadline::after(kKillPatience);
  kill_round();
}

void Agent::kill_round() {
  if (childless_) return;
  signal_groups(SIGKILL);
  const auto left = descendants();
  for (const auto& process : left) signal_process(process, SIGKILL);
  if (!give_up_at_.passed()) {
    reactor_.call_at(Deadline::after(kKillInterval), [this] { kill_round(); });
    return;
  }
  std::string pids;
  for (const auto& process : left) pids += fmt::format(" {}", process.pid);
  Writer writer;
  writer.text(fmt::format("on {} these processes cannot be killed:{}", job_.host, pids));
  channel_.send(make_frame(FrameType::warning, writer.view()));
  finish();
}

void Agent::signal_groups(int number) {
  for (const auto& rank : ranks_) {
    // As long as the rank itself is not reaped no other group can have its number.
    if (rank->running) kill(-rank->pid, number);
  }
}

void Agent::signal_strays(int number) {
  if (childless_) return;
  for (const auto& process : descendants()) {
    const bool signalled_with_group = std::any_of(ranks_.begin(), ranks_.end(), [&process](const auto& rank) {
      return rank->running && rank->pid == process.group;
    });
    if (!signalled_with_group) signal_process(process, number);
  }
}

void Agent::finish_if_empty() {
  if (phase_ == Phase::over || running_ > 0) return;
  if (phase_ == Phase::waiting && !channel_.closed()) return;
  if (childless_) {
    finish();
  } else if (!strays_asked_) {
    end_ranks(SIGTERM, Milliseconds(job_.grace_ms));  // what the ranks have left behind
  }
}

void Agent::finish() {
  for (const auto& rank : ranks_) {
    for (const int stream : {1, 2}) {
      drain(*rank, stream);
      if (!rank->stream(stream).valid()) continue;  // somebody who is no descendant holds its other end
      reactor_.forget(rank->stream(stream).get());
      send_numbers(FrameType::output_end, {rank->rank, stream});
    }
  }
  input_.close();
  channel_.send(make_frame(FrameType::done));
  phase_ = Phase::over;
}

void Agent::send_numbers(FrameType type, std::initializer_list<int32_t> numbers) {
  Writer writer;
  for (const auto number : numbers) writer.number(number);
  channel_.send(make_frame(type, writer.view()));
}

// Reads what is there, at most one buffer full, so that no rank keeps the others waiting. False: there was nothing.
bool Agent::forward_output(Rank& rank, int stream) {
  Fd& fd = rank.stream(stream);
  if (!fd.valid()) return false;
  std::array<std::byte, kReadBytes> buffer;
  const ssize_t size = ::read(fd.get(), buffer.data(), buffer.size());
  if (size > 0) {
    Writer writer;
    writer.number(static_cast<uint32_t>(size) + 9).number(FrameType::output);
    writer.number(static_cast<int32_t>(rank.rank)).number(static_cast<int32_t>(stream));
    writer.raw(buffer.data(), static_cast<size_t>(size));
    channel_.send(writer.take());
    if (channel_.full()) set_paused(true);
  } else if (size == 0 || (errno != EAGAIN && errno != EINTR)) {
    reactor_.forget(fd.get());
    fd.reset();
    send_numbers(FrameType::output_end, {rank.rank, stream});
  }
  return size > 0;
}

void Agent::drain(Rank& rank, int stream) {
  for (int i = 0; i < kMaxDrains && forward_output(rank, stream); ++i) {
  }
}

void Agent::set_paused(bool paused) {
  for (const auto& rank : ranks_) {
    for (const int stream : {1, 2}) {
      const int fd = rank->stream(stream).get();
      if (fd < 0) continue;
      if (paused) {
        reactor_.forget(fd);
      } else {
        reactor_.watch_input(fd, [this, held = rank.get(), stream] { forward_output(*held, stream); });
      }
    }
  }
}

}  // namespace ronde::launcher
