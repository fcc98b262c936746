#include "ronderun/recorder.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>

#include <cerrno>

#include "runtime/black_box_reader.h"

namespace ronde::launcher {
namespace {

constexpr size_t kMostActivities = 4;

}  // namespace

Result<Fd> make_black_box(int lowest_descriptor) {
  const Fd memory(memfd_create(black_box::kMemoryName, MFD_CLOEXEC | MFD_ALLOW_SEALING));
  // Never shorter: the rank maps it.
  if (!memory.valid() || fcntl(memory.get(), F_ADD_SEALS, F_SEAL_SHRINK) != 0)
    return system_error("no memory file for a black box", errno);
  Fd moved(fcntl(memory.get(), F_DUPFD_CLOEXEC, lowest_descriptor));
  if (!moved.valid()) return system_error("no descriptor for a black box", errno);
  return moved;
}

std::vector<std::string> read_activities(const Fd& black_box) {
  const Time now = Clock::now();
  std::vector<std::string> lines;
  const auto recording = read_black_box(black_box.get(), 1, now);
  if (!recording.ok()) return lines;
  for (const RecordedRank& rank : recording->ranks) {
    if (!rank.in_use || rank.nranks < 2) continue;
    if (lines.size() == kMostActivities) {
      lines.emplace_back("(it has more communicators)");
      break;
    }
    const std::string name = rank.name.empty() ? "" : fmt::format(" of communicator '{}'", rank.name);
    lines.push_back(fmt::format("rank {} of {}{}: {}", rank.rank, rank.nranks, name, describe_activity(rank, now)));
  }
  return lines;
}

}  // namespace ronde::launcher
