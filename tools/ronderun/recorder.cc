#include "ronderun/recorder.h"

#include <fcntl.h>
#include <fmt/format.h>

#include <cerrno>

#include "runtime/black_box.h"
#include "runtime/black_box_reader.h"

namespace ronde::launcher {
namespace {

constexpr size_t kMostActivities = 4;

}  // namespace

Result<Fd> make_black_box(const std::vector<std::string>& environment, int lowest_descriptor) {
  constexpr std::string_view kSetting = "RONDE_TRACE_DIR=";
  std::string folder;
  for (const std::string& variable : environment)
    if (variable.starts_with(kSetting)) folder = variable.substr(kSetting.size());
  RONDE_ASSIGN(const Fd file, make_black_box_file(folder));
  Fd moved(fcntl(file.get(), F_DUPFD_CLOEXEC, lowest_descriptor));
  if (!moved.valid()) return system_error("no descriptor for a black box", errno);
  return moved;
}

std::vector<std::string> read_activities(int world_rank, const Fd& black_box) {
  const Time now = Clock::now();
  std::vector<std::string> lines;
  const auto recording = read_black_box(black_box.get(), 1, now);
  if (!recording.ok()) return lines;
  for (const RecordedRank& rank : recording->ranks) {
    if (!rank.in_use || rank.nranks < 2) continue;
    if (lines.size() == kMostActivities) {
      lines.push_back(fmt::format("rank {} has more communicators", world_rank));
      break;
    }
    // As ronde-status names it.
    const std::string name = rank.name.empty() ? "" : fmt::format(" '{}'", rank.name);
    lines.push_back(fmt::format("rank {} (pid {}), rank {} of {} in communicator {:016x}{}: {}", world_rank,
                                recording->pid, rank.rank, rank.nranks, rank.job, name, describe_activity(rank, now)));
  }
  return lines;
}

}  // namespace ronde::launcher
