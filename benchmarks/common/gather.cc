#include "common/gather.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <string>

namespace perf {
namespace {

constexpr std::size_t kHostBytes = 64;
constexpr std::size_t kInfoBytes = kHostBytes + sizeof(std::uint32_t);

constexpr std::size_t kTransports = 4;  // entries that travel for a rank
constexpr std::size_t kNameWords = sizeof(rondeTraffic_t::transport) / sizeof(std::uint64_t);  // the name, in words
constexpr std::size_t kEntryWords = kNameWords + 4;

const rondeTraffic_t* find(const std::vector<rondeTraffic_t>& entries, const char* transport) {
  const auto same = [&](const rondeTraffic_t& entry) { return std::strcmp(entry.transport, transport) == 0; };
  const auto found = std::find_if(entries.begin(), entries.end(), same);
  return found == entries.end() ? nullptr : &*found;
}

void write_entry(const rondeTraffic_t& after, const rondeTraffic_t& before, std::uint64_t* words) {
  std::memcpy(words, after.transport, sizeof(after.transport));
  words[kNameWords] = after.sentBytes - before.sentBytes;
  words[kNameWords + 1] = after.sentHeaderBytes - before.sentHeaderBytes;
  words[kNameWords + 2] = after.receivedBytes - before.receivedBytes;
  words[kNameWords + 3] = after.receivedHeaderBytes - before.receivedHeaderBytes;
}

CounterRow read_entry(int rank, const std::uint64_t* words) {
  CounterRow row;
  row.rank = rank;
  row.transport.resize(sizeof(rondeTraffic_t::transport));
  std::memcpy(row.transport.data(), words, sizeof(rondeTraffic_t::transport));
  row.transport.resize(std::strlen(row.transport.c_str()));
  row.sent = words[kNameWords];
  row.sent_header = words[kNameWords + 1];
  row.received = words[kNameWords + 2];
  row.received_header = words[kNameWords + 3];
  return row;
}

}  // namespace

std::vector<RankInfo> gather_ranks(Team& team) {
  std::vector<unsigned char> bytes(static_cast<std::size_t>(team.nranks()) * kInfoBytes);
  char host[kHostBytes] = {};
  if (gethostname(host, sizeof(host) - 1) != 0) std::strcpy(host, "?");
  const auto pid = static_cast<std::uint32_t>(getpid());
  for (int i = 0; i < team.size(); ++i) {
    unsigned char* own = &bytes[static_cast<std::size_t>(team.rank(i)) * kInfoBytes];
    std::memcpy(own, host, sizeof(host));
    std::memcpy(own + kHostBytes, &pid, sizeof(pid));
  }
  team.sum(&bytes);
  std::vector<RankInfo> ranks(static_cast<std::size_t>(team.nranks()));
  for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
    const unsigned char* from = &bytes[rank * kInfoBytes];
    ranks[rank].host = reinterpret_cast<const char*>(from);
    std::uint32_t number = 0;
    std::memcpy(&number, from + kHostBytes, sizeof(number));
    ranks[rank].pid = static_cast<int>(number);
  }
  return ranks;
}

Traffic read_traffic(const Team& team) {
  Traffic traffic(static_cast<std::size_t>(team.size()));
  for (int i = 0; i < team.size(); ++i) {
    std::array<rondeTraffic_t, kTransports> entries = {};
    for (rondeTraffic_t& entry : entries) entry.size = sizeof(entry);
    int number = 0;
    team.check(rondeCommGetTraffic(team.comm(i), entries.data(), static_cast<int>(entries.size()), &number),
               "rondeCommGetTraffic");
    traffic[static_cast<std::size_t>(i)].assign(entries.begin(), entries.begin() + number);
  }
  return traffic;
}

std::vector<CounterRow> gather_traffic(Team& team, const Traffic& before, const Traffic& after) {
  std::vector<std::uint64_t> words(static_cast<std::size_t>(team.nranks()) * kTransports * kEntryWords);
  for (int i = 0; i < team.size(); ++i) {
    std::uint64_t* own = &words[static_cast<std::size_t>(team.rank(i)) * kTransports * kEntryWords];
    for (const rondeTraffic_t& now : after[static_cast<std::size_t>(i)]) {
      const rondeTraffic_t* then = find(before[static_cast<std::size_t>(i)], now.transport);
      write_entry(now, then != nullptr ? *then : rondeTraffic_t{}, own);
      own += kEntryWords;
    }
  }
  team.sum(&words);
  std::vector<CounterRow> rows;
  for (int rank = 0; rank < team.nranks(); ++rank) {
    for (std::size_t entry = 0; entry < kTransports; ++entry) {
      const std::uint64_t* from = &words[(static_cast<std::size_t>(rank) * kTransports + entry) * kEntryWords];
      if (from[0] != 0) rows.push_back(read_entry(rank, from));
    }
  }
  return rows;
}

}  // namespace perf
