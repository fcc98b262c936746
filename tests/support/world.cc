#include "support/world.h"

#include <fmt/format.h>
#include <sys/socket.h>

#include <cstdio>
#include <cstdlib>
#include <thread>

#include "base/crypto.h"
#include "runtime/make_communicator.h"
#include "transports/built_in.h"

namespace ronde::testing {
namespace {

[[noreturn]] void give_up(const Status& why) {
  std::fprintf(stderr, "test cannot start: %s\n", why.message().c_str());
  std::abort();
}

RendezvousOptions root_options() {
  RendezvousOptions options;
  options.socket_ifname = "lo";
  options.socket_family = AF_INET;
  return options;
}

CommunicatorOptions common_options(const WorldOptions& world) {
  CommunicatorOptions options;
  options.nranks = world.nranks;
  options.settings = test_settings(world.settings);
  options.counters_start = world.counters_start;
  const Result<uint64_t> job = random_number<uint64_t>();
  const Result<Secret> secret = Secret::random();
  if (!job.ok() || !secret.ok()) give_up(job.ok() ? secret.status() : job.status());
  options.job = *job;
  options.secret = *secret;
  return options;
}

}  // namespace

Settings test_settings(const std::vector<std::pair<std::string, std::string>>& settings) {
  Settings result;
  std::vector<std::pair<std::string, std::string>> all{{"RONDE_SOCKET_IFNAME", "lo"}, {"RONDE_SOCKET_FAMILY", "ipv4"}};
  all.insert(all.end(), settings.begin(), settings.end());
  for (const auto& [name, value] : all) {
    if (const Status status = result.set(name, value); !status.ok()) give_up(status);
  }
  return result;
}

Status first_failure(const std::vector<Status>& statuses) {
  for (size_t rank = 0; rank < statuses.size(); ++rank) {
    if (statuses[rank].ok()) continue;
    return {statuses[rank].code(), fmt::format("on rank {}: {}", rank, statuses[rank].message())};
  }
  return {};
}

std::vector<Status> in_threads(int count, const std::function<Status(int)>& function) {
  std::vector<Status> statuses(static_cast<size_t>(count));
  std::vector<std::thread> threads;
  for (int i = 0; i < count; ++i) {
    threads.emplace_back([&, i] { statuses[static_cast<size_t>(i)] = function(i); });
  }
  for (std::thread& thread : threads) thread.join();
  return statuses;
}

World::World(const WorldOptions& options)
    : options_(options),
      watchdog_(fmt::format("a world of {} ranks", options.nranks), options.limit),
      process_(std::make_unique<Process>(options.transports ? options.transports() : built_in_transports())),
      communicators_(static_cast<size_t>(options.nranks)) {
  CommunicatorOptions common = common_options(options_);
  if (options_.real_root) {
    const Result<UniqueId> id = start_root(process_->loop(), root_options());
    if (!id.ok()) give_up(id.status());
    common.job = id->job;
    common.secret = id->secret;
    made_ = in_threads(nranks(), [&](int rank) { return make_at_root(rank, common, *id); });
    return;
  }
  auto rendezvous = local_rendezvous(nranks());
  made_ = in_threads(nranks(),
                     [&](int rank) { return make(rank, common, std::move(rendezvous[static_cast<size_t>(rank)])); });
}

World::~World() = default;

Status World::make(int rank, const CommunicatorOptions& common, std::unique_ptr<Rendezvous> rendezvous) {
  CommunicatorOptions options = common;
  options.rank = rank;
  RONDE_ASSIGN(communicators_[static_cast<size_t>(rank)],
               make_rank(*process_, std::move(options), std::move(rendezvous), Deadline::after(options_.init_limit)));
  return {};
}

Status World::make_at_root(int rank, const CommunicatorOptions& common, const UniqueId& id) {
  RONDE_ASSIGN(std::unique_ptr<Rendezvous> rendezvous,
               join(process_->loop(), id, nranks(), rank, root_options(), Deadline::after(options_.init_limit)));
  return make(rank, common, std::move(rendezvous));
}

std::vector<Status> World::run(const std::function<Status(Communicator&)>& body) {
  return in_threads(nranks(), [&](int rank) { return body((*this)[rank]); });
}

}  // namespace ronde::testing
