// The part of checks.h that looks at processors, memory, limits and what ranks of one machine use between them.
#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>

#include "base/doorbell.h"
#include "base/unix_socket.h"
#include "doctor/checks.h"
#include "link/segment.h"
#include "topology/cpus.h"

namespace ronde::doctor {
namespace {

// Of ronderun, for all its ranks, and of each rank while it meets the others of its machine: for each of them its
// memory, its wake-up and a connection both ways.
constexpr rlim_t kFilesForOneself = 40;
constexpr rlim_t kFilesForEachRank = 4;
// Beside what ranks share: the program's own memory, of which nothing is known here.
constexpr size_t kOwnBytes = 8 << 20;
constexpr int kWakeLimitMs = 2000;
constexpr const char* kSharedMemory = "shared memory";

std::string bytes_text(size_t bytes) {
  if (bytes >= size_t{1} << 30) return fmt::format("{:.1f} GiB", static_cast<double>(bytes) / (1 << 30));
  return fmt::format("{:.1f} MiB", static_cast<double>(bytes) / (1 << 20));
}

std::string limit_text(rlim_t limit) { return limit == RLIM_INFINITY ? "unlimited" : std::to_string(limit); }

std::string ranks_text(int nranks) { return fmt::format("{} rank{}", nranks, nranks == 1 ? "" : "s"); }

// From one end of a Unix socket to the other, as ranks hand their memory to each other, and mapped there.
Status hand_over(Segment& segment, int event_fd) {
  Nonce random{};
  RONDE_TRY(random_bytes(random));
  std::string name = "ronde-doctor-";
  for (size_t i = 0; i < 8; ++i) name += fmt::format("{:02x}", std::to_integer<int>(random[i]));
  RONDE_ASSIGN(const Fd listener, listen_abstract(name, 1));
  Fd sender;
  if (connect_abstract(name, sender) != ConnectOutcome::connected) {
    return system_error("cannot connect to an abstract Unix socket", errno);
  }
  const Fd receiver(::accept4(listener.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
  if (!receiver.valid()) return system_error("cannot take a connection of a Unix socket", errno);
  if (!send_with_descriptors(sender.get(), segment.token(), std::array{segment.memfd(), event_fd})) {
    return system_error("cannot send descriptors over a Unix socket", errno);
  }
  Nonce token{};
  std::array<Fd, 2> descriptors;
  if (receive_with_descriptors(receiver.get(), token, descriptors) != ReceiveOutcome::received) {
    return {rondeSystemError, "descriptors sent over a Unix socket do not arrive"};
  }
  return Segment::map(descriptors[0].get(), segment.layout(), token).status();
}

// Start-up ends where a rank's memory cannot be made; only what comes before and after that leads to tcp.
Finding cannot_have_memory(const Status& status, size_t bytes) {
  rlimit limit{};
  const bool too_low = getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur < bytes;
  if (!too_low) {
    return {State::problem, kSharedMemory, status.message() + "; start-up ends with this error",
            "leave more memory to the ranks, or go without: RONDE_TRANSPORT=inproc,tcp, which is slower"};
  }
  const std::string raise =
      limit.rlim_max >= bytes ? "ulimit -Sf unlimited, or as far as the hard limit allows"
                              : "as administrator: ulimit -f unlimited; for good: 'fsize' in /etc/security/limits.conf";
  return {
      State::problem, kSharedMemory,
      fmt::format("the limit of file sizes is {} bytes, a rank's shared memory takes {}: start-up ends with an error",
                  limit.rlim_cur, bytes),
      raise + "; or go without shared memory: RONDE_TRANSPORT=inproc,tcp, which is slower"};
}

}  // namespace

Finding check_cpus(int nranks) {
  const auto allowance = topology::CpuAllowance::of_this_process();
  const int usable = topology::usable_cpus(std::array{allowance});
  std::string value = fmt::format("{} usable", usable);
  if (allowance.quota > 0) value += fmt::format(" (quota of the control group: {})", allowance.quota);
  if (nranks <= usable) return {State::ok, "CPUs", value};
  return {State::warning, "CPUs",
          fmt::format("{}, for {}: they take turns, and each operation takes longer", value, ranks_text(nranks)),
          "start fewer ranks here, or allow more CPUs (taskset, cpuset and CPU limit of the container)"};
}

Finding check_memory(int nranks) {
  const size_t available = available_memory();
  const size_t shared = SegmentLayout::for_ranks(nranks).total;
  const size_t need = static_cast<size_t>(nranks) * (shared + kOwnBytes);
  const std::string needs =
      fmt::format("{} of Ronde need{} at most {}", ranks_text(nranks), nranks == 1 ? "s" : "", bytes_text(need));
  if (available == 0) return {State::warning, "memory", fmt::format("cannot be told; {}", needs)};
  const std::string value = fmt::format("{} available; {}", bytes_text(available), needs);
  if (available >= need) return {State::ok, "memory", value};
  return {State::warning, "memory", value, "start fewer ranks here, or raise the memory limit of the container"};
}

Finding check_open_files(int nranks) {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) {
    return problem_of("open files", system_error("the limit cannot be read", errno));
  }
  const rlim_t need = kFilesForOneself + kFilesForEachRank * static_cast<rlim_t>(nranks);
  const std::string value =
      fmt::format("limit {} (hard limit {}); {} need up to {} in each process", limit_text(limit.rlim_cur),
                  limit_text(limit.rlim_max), ranks_text(nranks), need);
  if (limit.rlim_cur >= need) return {State::ok, "open files", value};
  if (limit.rlim_max >= need) return {State::problem, "open files", value, fmt::format("ulimit -Sn {}", need)};
  return {
      State::problem, "open files", value,
      fmt::format("as administrator: ulimit -n {0}; for good: 'nofile' in /etc/security/limits.conf, LimitNOFILE= of "
                  "the service, or --ulimit nofile={0} of the container",
                  need)};
}

Finding check_shared_memory(int nranks, const Settings& settings) {
  const std::string& transport = settings.transport;
  if (transport != "auto" && !list_contains(transport, "shm")) {
    return {State::ok, kSharedMemory, fmt::format("not used: RONDE_TRANSPORT={}", transport)};
  }
  const bool tcp_allowed = transport == "auto" || list_contains(transport, "tcp");
  const auto without = [&](const std::string& why, const std::string& remedy) -> Finding {
    if (tcp_allowed) {
      return {State::warning, kSharedMemory, why + "; ranks of this machine use tcp, which is slower", remedy};
    }
    return {State::problem, kSharedMemory, fmt::format("{}, and RONDE_TRANSPORT={} allows no tcp", why, transport),
            remedy};
  };
  constexpr const char* kNeeds =
      "needs Linux 5.1, and a container that allows memfd_create (seccomp; sysctl vm.memfd_noexec below 2)";
  const auto most = static_cast<int64_t>(SegmentLayout::most_bytes());
  if (settings.shm_limit_bytes < most) {
    return without(
        fmt::format("RONDE_SHM_LIMIT={} leaves none: a communicator may take {} bytes", settings.shm_limit_bytes, most),
        fmt::format("unset RONDE_SHM_LIMIT, or set it to {} or more", most));
  }
  if (const Status status = Segment::probe_sharing(); !status.ok()) return without(status.message(), kNeeds);
  const SegmentLayout layout = SegmentLayout::for_ranks(nranks);
  const auto segment = Segment::create(layout, true);
  if (!segment.ok()) return cannot_have_memory(segment.status(), layout.total);
  const auto doorbell = Doorbell::create(&(*segment)->words().sleep);
  if (!doorbell.ok()) return problem_of(kSharedMemory, doorbell.status());
  if (const Status status = hand_over(**segment, (*doorbell)->event_fd()); !status.ok()) {
    return without(status.message(), kNeeds);
  }
  return {State::ok, kSharedMemory,
          fmt::format("made, handed over and mapped; at most {} a rank", bytes_text(static_cast<size_t>(most)))};
}

Finding check_wakeups() {
  constexpr const char* kWhat = "wake-up";
  constexpr const char* kRemedy = "the sandbox or container must allow eventfd2, epoll_create1 and epoll_wait";
  SleepWord word{};
  const auto doorbell = Doorbell::create(&word);
  if (!doorbell.ok()) return problem_of(kWhat, doorbell.status(), kRemedy);
  (*doorbell)->announce(kWaitsForAny);  // only who sleeps is woken
  (*doorbell)->wake();
  if (!(*doorbell)->sleep(kWakeLimitMs)) return {State::problem, kWhat, "an eventfd does not wake an epoll", kRemedy};
  return {State::ok, kWhat, "eventfd and epoll work"};
}

}  // namespace ronde::doctor
