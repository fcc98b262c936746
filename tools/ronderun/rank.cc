#include "ronderun/rank.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <map>

#include "ronderun/recorder.h"

namespace ronde::launcher {
namespace {

constexpr std::array<std::string_view, 6> kPlaceVariables{"RONDE_RANK",         "RONDE_NRANKS", "RONDE_LOCAL_RANK",
                                                          "RONDE_LOCAL_NRANKS", "RONDE_ID_FD",  "RONDE_BLACK_BOX_FD"};
// Above the numbers that scripts and shells use for their own redirections, below any sensible limit.
constexpr int kLowestKeptFd = 20;

// The id in memory of its own, which nobody can change; the reader starts at its beginning.
Result<Fd> sealed_text(const std::string& text) {
  const Fd memory(memfd_create("ronde-id", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!memory.valid()) return system_error("no memory file for the id", errno);
  if (::write(memory.get(), text.data(), text.size()) != static_cast<ssize_t>(text.size()) ||
      fcntl(memory.get(), F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0 ||
      lseek(memory.get(), 0, SEEK_SET) != 0) {
    return system_error("the id cannot be written to its memory file", errno);
  }
  Fd moved(fcntl(memory.get(), F_DUPFD_CLOEXEC, kLowestKeptFd));
  if (!moved.valid()) return system_error("no descriptor for the id", errno);
  return moved;
}

struct Pipe {
  Fd reading;
  Fd writing;
};

Result<Pipe> make_pipe() {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return system_error("no pipe for the output of a rank", errno);
  Pipe pipe{Fd(ends[0]), Fd(ends[1])};
  fcntl(pipe.reading.get(), F_SETFL, O_NONBLOCK);  // this end only: the rank's own stays blocking
  return pipe;
}

}  // namespace

void InputPipe::open(Fd end, std::function<void(size_t)> taken) {
  end_ = std::move(end);
  taken_ = std::move(taken);
  fcntl(end_.get(), F_SETFL, O_NONBLOCK);
}

void InputPipe::write(ByteView bytes) {
  if (!end_.valid()) {
    if (taken_) taken_(bytes.size());
    return;
  }
  waiting_.insert(waiting_.end(), bytes.begin(), bytes.end());
  write_some();
}

void InputPipe::finish() {
  finish_ = true;
  if (waiting_.empty()) close();
}

void InputPipe::close() {
  if (end_.valid()) reactor_.forget(end_.get());
  end_.reset();
  waiting_.clear();
}

void InputPipe::write_some() {
  const ssize_t size = ::write(end_.get(), waiting_.data(), waiting_.size());
  if (size < 0 && (errno == EAGAIN || errno == EINTR)) {
    reactor_.watch_output(end_.get(), [this] { write_some(); });
    return;
  }
  if (size < 0) {
    const size_t dropped = waiting_.size();
    close();
    taken_(dropped);
    return;
  }
  waiting_.erase(waiting_.begin(), waiting_.begin() + size);
  taken_(static_cast<size_t>(size));
  if (!waiting_.empty()) {
    reactor_.watch_output(end_.get(), [this] { write_some(); });
  } else if (finish_) {
    close();
  } else {
    reactor_.forget(end_.get());
  }
}

StartedRank start_rank(const RankPlan& plan, uint32_t local_rank, int input) {
  StartedRank result;
  auto out = make_pipe();
  auto error = make_pipe();
  auto id = sealed_text(plan.job.id_text);
  if (!out.ok()) result.failed = out.status();
  if (!error.ok()) result.failed = error.status();
  if (!id.ok()) result.failed = id.status();
  auto black_box = make_black_box(plan.environment, kLowestKeptFd);
  if (!black_box.ok()) result.failed = black_box.status();
  if (!result.failed.ok()) return result;

  const auto rank = plan.job.first_rank + local_rank;
  Launch launch;
  launch.path = plan.path;
  launch.arguments = plan.job.command;
  launch.environment = plan.environment;
  launch.environment.push_back(fmt::format("RONDE_RANK={}", rank));
  launch.environment.push_back(fmt::format("RONDE_NRANKS={}", plan.job.nranks));
  launch.environment.push_back(fmt::format("RONDE_LOCAL_RANK={}", local_rank));
  launch.environment.push_back(fmt::format("RONDE_LOCAL_NRANKS={}", plan.job.count));
  launch.environment.push_back(fmt::format("RONDE_ID_FD={}", id->get()));
  launch.environment.push_back(fmt::format("RONDE_BLACK_BOX_FD={}", black_box->get()));
  launch.in = input;
  launch.out = out->writing.get();
  launch.error = error->writing.get();
  launch.kept = {id->get(), black_box->get()};
  launch.death_signal = SIGKILL;
  const auto launched = ronde::launcher::launch(launch, plan.inherited);
  if (launched.pid < 0) {
    result.failed = system_error("no new process", launched.error);
    return result;
  }
  result.exec_error = launched.error;
  result.rank.rank = static_cast<int>(rank);
  result.rank.pid = launched.pid;
  result.rank.running = true;
  result.rank.out = std::move(out->reading);
  result.rank.error = std::move(error->reading);
  result.rank.black_box = std::move(*black_box);
  return result;
}

std::vector<std::string> merge_environment(char* const* own, const std::vector<std::string>& added) {
  std::map<std::string, std::string, std::less<>> merged;
  const auto add = [&merged](std::string_view text) {
    const auto name = text.substr(0, text.find('='));
    if (std::find(kPlaceVariables.begin(), kPlaceVariables.end(), name) != kPlaceVariables.end()) return;
    merged.insert_or_assign(std::string(name), std::string(text));
  };
  for (; own != nullptr && *own != nullptr; ++own) add(*own);
  for (const auto& text : added) add(text);
  std::vector<std::string> result;
  result.reserve(merged.size());
  for (auto& [name, text] : merged) result.push_back(std::move(text));
  return result;
}

}  // namespace ronde::launcher
