#include "ronderun/hosts.h"

#include <catch2/catch.hpp>

using namespace ronde::launcher;

namespace {

std::string message_of(const ronde::Status& status) { return status.message(); }

}  // namespace

TEST_CASE("a list of hosts") {
  CHECK(*parse_hosts("a") == std::vector<HostSlots>{{"a", 1}});
  CHECK(*parse_hosts("a:4,b, c:2") == std::vector<HostSlots>{{"a", 4}, {"b", 1}, {"c", 2}});
  CHECK(*parse_hosts("a,b:2,a:3") == std::vector<HostSlots>{{"a", 4}, {"b", 2}});
  CHECK(*parse_hosts("[fd00::1]:2,fd00::2,[fd00::3],10.0.0.1:3") ==
        std::vector<HostSlots>{{"fd00::1", 2}, {"fd00::2", 1}, {"fd00::3", 1}, {"10.0.0.1", 3}});
  for (const char* text :
       {"", ",", "a,", "a:", "a:0", "a:x", ":4", "-oProxyCommand=x", "a b", "a;b", "[fd00::1", "[a]4"}) {
    INFO(text);
    CHECK_FALSE(parse_hosts(text).ok());
  }
}

TEST_CASE("a file of hosts") {
  CHECK(*parse_hostfile("f", "# all\n\na slots=4 # first\n  b:2\r\nc\n") ==
        std::vector<HostSlots>{{"a", 4}, {"b", 2}, {"c", 1}});
  CHECK(message_of(parse_hostfile("f", "\n#\n").status()).find("f: no host") == 0);
  CHECK(message_of(parse_hostfile("f", "a\nb slots=x\n").status()).find("f, line 2: slots wants") == 0);
  CHECK(message_of(parse_hostfile("f", "a max=4\n").status()).find("'max=4'") != std::string::npos);
}

TEST_CASE("ranks fill the hosts in their order") {
  const std::vector<HostSlots> hosts{{"a", 2}, {"me", 3}, {"b", 1}};
  CHECK(*place_ranks(0, hosts, "me") ==
        std::vector<Placement>{{"a", false, 0, 2}, {"me", true, 2, 3}, {"b", false, 5, 1}});
  CHECK(*place_ranks(4, hosts, "me") == std::vector<Placement>{{"a", false, 0, 2}, {"me", true, 2, 2}});
  CHECK(*place_ranks(1, hosts, "me") == std::vector<Placement>{{"a", false, 0, 1}});
  CHECK_FALSE(place_ranks(7, hosts, "me").ok());
}

TEST_CASE("all names of this host are one place, others are not guessed") {
  CHECK(*place_ranks(0, {{"localhost", 1}, {"a", 1}, {"127.0.0.1", 2}, {"me", 1}}, "me") ==
        std::vector<Placement>{{"me", true, 0, 4}, {"a", false, 4, 1}});
  CHECK(*place_ranks(0, {{"me.elsewhere", 1}}, "me") == std::vector<Placement>{{"me.elsewhere", false, 0, 1}});
}
