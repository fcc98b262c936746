#include "bootstrap/environment.h"

#include <fcntl.h>
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <climits>

#include "base/retry.h"
#include "base/settings.h"
#include "bootstrap/id_handout.h"
#include "bootstrap/launcher.h"
#include "bootstrap/secret_file.h"

namespace ronde {
namespace {

constexpr const char* kSeveralHosts =
    "For several hosts set MASTER_ADDR to the host of rank 0, MASTER_PORT or RONDE_PORT, and RONDE_SECRET_FILE to a "
    "file "
    "of mode 0600 with at least 32 bytes that is the same on all hosts: (umask 077; head -c 32 /dev/urandom > FILE)";

constexpr Milliseconds kDoubtfulLimit{2'000};

// ronderun leaves the text of the id in a sealed file of memory.
Result<UniqueId> id_from_descriptor() {
  if (!environment_variable("RONDE_ID_FD"))
    return Status(
        rondeInvalidUsage,
        "RONDE_RANK is set, as ronderun does, but not RONDE_ID_FD, which ronderun sets too. To start ranks by "
        "hand set RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT instead");
  RONDE_ASSIGN(const int fd, environment_number("RONDE_ID_FD", 0, INT_MAX));
  std::array<char, 2 * RONDE_UNIQUE_ID_TEXT_BYTES> text{};
  const Wipe wipe(text);
  // pread: its position is shared with all processes that were handed the file.
  const ssize_t size = retry_interrupted([&] { return ::pread(fd, text.data(), text.size(), 0); });
  if (size < 0)
    return Status(
        rondeInvalidUsage,
        system_error(fmt::format("RONDE_ID_FD={}: cannot read the id that ronderun left there", fd), errno).message());
  rondeUniqueId packed{};
  const Wipe wipe_packed(packed.internal);
  const Status read = id_from_text({text.data(), static_cast<size_t>(size)}, packed);
  if (!read.ok()) return Status(rondeInvalidUsage, fmt::format("RONDE_ID_FD={}: {}", fd, read.message()));
  // It holds the secret: no business of programs that this one starts.
  ::fcntl(fd, F_SETFD, FD_CLOEXEC);
  return UniqueId::unpack(packed);
}

Result<std::vector<SocketAddress>> resolve_master(const std::string& host, int family) {
  auto addresses = resolve_host(host, family);
  if (!addresses.ok()) return Status(rondeInvalidUsage, "MASTER_ADDR=" + addresses.status().message());
  return addresses;
}

bool is_local(const std::vector<SocketAddress>& addresses) {
  return std::all_of(addresses.begin(), addresses.end(),
                     [](const SocketAddress& one) { return is_local_address(one); });
}

Result<uint16_t> meeting_port(const RendezvousOptions& options) {
  if (options.port != 0) return options.port;
  if (!environment_variable("MASTER_PORT"))
    return Status(rondeInvalidUsage, "neither RONDE_PORT nor MASTER_PORT is set: the ranks do not know where to meet");
  RONDE_ASSIGN(const int port, environment_number("MASTER_PORT", 1, 65534));
  return static_cast<uint16_t>(port + 1);  // the launcher's own server has the port itself
}

// Several hosts: every process derives the same id, and rank 0 listens where it says.
Result<UniqueId> derived_id(EventLoop& loop, const RendezvousOptions& options, const Launcher& launcher,
                            const std::string& master, uint64_t call) {
  if (call > 0)
    return Status(
        rondeInvalidUsage,
        "with RONDE_SECRET_FILE a process gets one id from its environment, and has got it; make further ones "
        "with rondeGetUniqueId and hand them out over the first communicator");
  RONDE_ASSIGN(const Secret secret, read_secret_file(options.secret_file));
  RONDE_ASSIGN(const uint16_t port, meeting_port(options));
  UniqueId id = derive_id(secret, port);
  RONDE_ASSIGN(id.addresses, resolve_master(master, options.socket_family));
  // A host's own name may stand for an address on which a chosen interface does not listen.
  if (!options.socket_ifname.empty() && is_local(id.addresses)) {
    RONDE_ASSIGN(const auto own, local_addresses(options.socket_ifname, options.socket_family));
    id.addresses.insert(id.addresses.end(), own.begin(), own.end());
  }
  if (launcher.world.rank == 0) RONDE_TRY(start_root_for(loop, id, options));
  return id;
}

Result<UniqueId> fetched_id(const RendezvousOptions& options, const Launcher& launcher, uint64_t call) {
  // Settings that choose no interface here have most likely ended rank 0, too: it is not waited for as long.
  const Status interfaces = local_addresses(options.socket_ifname, options.socket_family).status();
  const Milliseconds limit = interfaces.ok() ? options.init_timeout : std::min(options.init_timeout, kDoubtfulLimit);
  Result<UniqueId> id = fetch_id(launcher.job, call, Deadline::after(limit));
  if (id.ok() || id.status().code() != rondeTimedOut) return id;
  if (!interfaces.ok()) return interfaces;
  return Status(rondeTimedOut, fmt::format("rank {} waited {:.1f} s (RONDE_INIT_TIMEOUT): {} {}", launcher.world.rank,
                                           std::chrono::duration<double>(options.init_timeout).count(),
                                           id.status().message(), kSeveralHosts));
}

// One host: rank 0 makes the id and hands it to the others.
Result<UniqueId> handed_out_id(EventLoop& loop, const RendezvousOptions& options, const Launcher& launcher,
                               uint64_t call) {
  if (launcher.job.empty())
    return Status(
        rondeInvalidUsage,
        "MASTER_PORT is not set: it is what ranks that are started by hand know their job by; set MASTER_ADDR "
        "and MASTER_PORT, equal in all of its processes");
  if (launcher.world.rank != 0) return fetched_id(options, launcher, call);
  RONDE_ASSIGN(const UniqueId id, start_root(loop, options));
  RONDE_TRY(hand_out_id(loop, launcher.job, call, id, launcher.world.nranks - 1, options.init_timeout));
  return id;
}

Result<UniqueId> id_for(EventLoop& loop, const RendezvousOptions& options, const Launcher& launcher, uint64_t call) {
  const World& world = launcher.world;
  if (world.nranks == 1) return start_root(loop, options);
  const std::string master = environment_variable("MASTER_ADDR").value_or("");
  const bool has_secret = !options.secret_file.empty();
  bool several_hosts = launcher.several_hosts;
  if (!several_hosts && world.local_nranks == 0 && !master.empty()) {
    RONDE_ASSIGN(const auto addresses, resolve_master(master, 0));
    several_hosts = !is_local(addresses);
  }
  if (several_hosts && (!has_secret || master.empty()))
    return Status(rondeInvalidUsage,
                  fmt::format("{} started this job on several hosts, but {} is not set. {}", launcher.name,
                              has_secret ? "MASTER_ADDR" : "RONDE_SECRET_FILE", kSeveralHosts));
  if (has_secret && !master.empty()) return derived_id(loop, options, launcher, master, call);
  return handed_out_id(loop, options, launcher, call);
}

}  // namespace

Result<WorldAndId> world_from_environment(EventLoop& loop, const RendezvousOptions& options, uint64_t call) {
  RONDE_ASSIGN(const std::optional<Launcher> found, detect_launcher());
  Launcher launcher;
  if (found) {
    launcher = *found;
  } else {
    launcher.world.local_nranks = 1;
  }
  if (!found || launcher.name != "ronderun") {
    RONDE_ASSIGN(const UniqueId id, id_for(loop, options, launcher, call));
    return WorldAndId{launcher.world, id};
  }
  if (call > 0)
    return Status(rondeInvalidUsage,
                  "ronderun hands one id to each process, and this one has got it; make further ones with "
                  "rondeGetUniqueId and hand them out over the first communicator");
  RONDE_ASSIGN(const UniqueId id, id_from_descriptor());
  return WorldAndId{launcher.world, id};
}

Result<WorldAndId> world_from_environment(EventLoop& loop, const RendezvousOptions& options) {
  // A fact of the process, like its environment: no object that ends earlier may count it.
  static std::atomic<uint64_t> calls{0};
  const uint64_t call = calls.fetch_add(1);
  Result<WorldAndId> found = world_from_environment(loop, options, call);
  // One that failed does not count: the other processes of the job have not made it either, or will try again, too.
  uint64_t next = call + 1;
  if (!found.ok()) calls.compare_exchange_strong(next, call);
  return found;
}

}  // namespace ronde
