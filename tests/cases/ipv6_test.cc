// Situation 16, the part that needs no second host: ranks that may use IPv6 only meet and talk on ::1.
#include <dirent.h>
#include <sys/socket.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <cstring>
#include <fstream>
#include <set>
#include <string>

#include "cases/support/elements.h"
#include "cases/support/ranks.h"
#include "support/skip.h"

namespace ronde::cases {
namespace {

bool host_has_ipv6() {
  std::ifstream file("/proc/net/if_inet6");
  std::string line;
  while (std::getline(file, line)) {
    if (line.rfind("00000000000000000000000000000001", 0) == 0) return true;
  }
  return false;
}

// The inode numbers of this process's sockets.
std::set<std::string> own_sockets() {
  std::set<std::string> inodes;
  DIR* folder = opendir("/proc/self/fd");
  while (const dirent* entry = readdir(folder)) {
    char target[64] = {};
    const std::string path = std::string("/proc/self/fd/") + entry->d_name;
    if (readlink(path.c_str(), target, sizeof target - 1) < 0) continue;
    const std::string text = target;
    if (text.rfind("socket:[", 0) == 0) inodes.insert(text.substr(8, text.size() - 9));
  }
  closedir(folder);
  return inodes;
}

// How many of this process's sockets the table (/proc/net/tcp or tcp6) holds.
int sockets_in(const char* table) {
  const std::set<std::string> own = own_sockets();
  std::ifstream file(table);
  std::string line;
  std::getline(file, line);
  int found = 0;
  while (std::getline(file, line)) {
    size_t at = 0;
    for (int field = 0; field < 9; ++field) {
      at = line.find_first_not_of(' ', at);
      at = line.find(' ', at);
    }
    at = line.find_first_not_of(' ', at);
    if (at == std::string::npos) continue;
    found += static_cast<int>(own.count(line.substr(at, line.find(' ', at) - at)));
  }
  return found;
}

}  // namespace

TEST_CASE("case_16_ipv6_on_one_host") {
  if (!host_has_ipv6()) testing::skip("this host has no ::1");
  for (const Way& way : {Way{"tcp", false, "tcp"}, Way{"tcp threads, star, stream", true, "tcp", "star", true},
                         Way{"shm", false, "shm"}}) {
    CHECK(run_ranks({way, 3, {{"RONDE_SOCKET_FAMILY", "ipv6"}, {"RONDE_SOCKET_IFNAME", "lo"}}}, [](Rank& rank) {
            // Before the operations: none of the others can have ended yet.
            expect(sockets_in("/proc/net/tcp") == 0, "a socket is IPv4");
            expect(sockets_in("/proc/net/tcp6") > 0, "no socket is IPv6");
            for (const size_t count : {size_t{1}, size_t{100'000}}) {
              std::vector<float> values(count, static_cast<float>(rank.number() + 1));
              expect_success(rank.all_reduce(values.data(), values.data(), count, rondeFloat32, rondeSum), "sum");
              for (const float value : values) expect(value == 6, "the sum is wrong");
            }
          }) == "");
  }
}

}  // namespace ronde::cases
