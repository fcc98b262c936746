#include "ronderun/hosts.h"

#include <fmt/format.h>

#include <algorithm>

#include "common/command_line.h"

namespace ronde::launcher {
namespace {

std::string_view trim(std::string_view text) {
  constexpr std::string_view kBlank = " \t\r";
  const auto begin = text.find_first_not_of(kBlank);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(kBlank) - begin + 1);
}

Status bad_host(std::string_view text, std::string_view why) {
  return {rondeInvalidArgument, fmt::format("host '{}': {}; write HOST or HOST:SLOTS, as in node1:4", text, why)};
}

Result<HostSlots> parse_host(std::string_view text) {
  const auto split = tools::split_host(text);
  if (!split.ok()) return bad_host(text, split.status().message());
  const std::string_view name = split->host;
  // A remote shell would take it for one of its options.
  if (name.starts_with('-')) return bad_host(text, "a name does not begin with '-'");
  if (name.find_first_of(" \t'\"\\$`;&|<>()*?!") != std::string_view::npos) return bad_host(text, "not a host's name");
  HostSlots result{std::string(name), 1};
  if (split->number) {
    RONDE_ASSIGN(result.slots, tools::parse_number(fmt::format("host '{}'", text), *split->number, 1, kMaxRanks));
  }
  return result;
}

void add_host(std::vector<HostSlots>& hosts, HostSlots host) {
  const auto known = std::find_if(hosts.begin(), hosts.end(), [&](const auto& h) { return h.host == host.host; });
  if (known == hosts.end()) {
    hosts.push_back(std::move(host));
  } else {
    known->slots = std::min(known->slots + host.slots, kMaxRanks);
  }
}

Result<HostSlots> parse_hostfile_line(std::string_view line) {
  const auto blank = line.find_first_of(" \t");
  RONDE_ASSIGN(HostSlots host, parse_host(line.substr(0, blank)));
  if (blank == std::string_view::npos) return host;
  const auto rest = trim(line.substr(blank));
  if (!rest.starts_with("slots=")) {
    return Status(rondeInvalidArgument, fmt::format("'{}' is not known; after the host only slots=NUMBER", rest));
  }
  RONDE_ASSIGN(host.slots, tools::parse_number("slots", rest.substr(6), 1, kMaxRanks));
  return host;
}

bool is_this_host(std::string_view name, std::string_view own_name) {
  return name == own_name || name == "localhost" || name == "127.0.0.1" || name == "::1";
}

}  // namespace

Result<std::vector<HostSlots>> parse_hosts(std::string_view text) {
  std::vector<HostSlots> hosts;
  while (true) {
    const auto comma = text.find(',');
    RONDE_ASSIGN(HostSlots host, parse_host(trim(text.substr(0, comma))));
    add_host(hosts, std::move(host));
    if (comma == std::string_view::npos) return hosts;
    text.remove_prefix(comma + 1);
  }
}

Result<std::vector<HostSlots>> parse_hostfile(std::string_view name, std::string_view text) {
  std::vector<HostSlots> hosts;
  for (int number = 1; !text.empty(); ++number) {
    const auto newline = text.find('\n');
    const auto line = trim(text.substr(0, newline));
    const auto content = trim(line.substr(0, line.find('#')));
    text.remove_prefix(newline == std::string_view::npos ? text.size() : newline + 1);
    if (content.empty()) continue;
    auto host = parse_hostfile_line(content);
    if (!host.ok()) {
      return Status(rondeInvalidArgument, fmt::format("{}, line {}: {}", name, number, host.status().message()));
    }
    add_host(hosts, std::move(*host));
  }
  if (hosts.empty()) return Status(rondeInvalidArgument, fmt::format("{}: no host in it; write one a line", name));
  return hosts;
}

Result<std::vector<Placement>> place_ranks(int nranks, const std::vector<HostSlots>& hosts, std::string_view own_name) {
  std::vector<HostSlots> merged;
  for (const auto& host : hosts) {
    add_host(merged, {is_this_host(host.host, own_name) ? std::string(own_name) : host.host, host.slots});
  }
  long total = 0;
  for (const auto& host : merged) total += host.slots;
  if (nranks > total || (nranks == 0 && total > kMaxRanks)) {
    return Status(
        rondeInvalidArgument,
        fmt::format("{} ranks do not fit the {} slot{} of {} host{}: add hosts, or give more slots, as in {}:{}",
                    nranks == 0 ? total : nranks, total, total == 1 ? "" : "s", merged.size(),
                    merged.size() == 1 ? "" : "s", hosts.front().host, nranks));
  }
  std::vector<Placement> placements;
  int next = 0;
  const int wanted = nranks == 0 ? static_cast<int>(total) : nranks;
  for (const auto& host : merged) {
    const int count = std::min(host.slots, wanted - next);
    if (count <= 0) break;
    placements.push_back({host.host, host.host == own_name, next, count});
    next += count;
  }
  return placements;
}

}  // namespace ronde::launcher
