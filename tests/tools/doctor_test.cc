// The parts of ronde-doctor; the program itself is tested by doctor_test.py.
#include <sys/socket.h>

#include <catch2/catch.hpp>
#include <cstdlib>
#include <thread>

#include "base/socket.h"
#include "doctor/checks.h"
#include "doctor/listen.h"
#include "doctor/options.h"
#include "doctor/reach.h"
#include "doctor/report.h"

using namespace ronde::doctor;
using ronde::Settings;

namespace {

Options accepted(const std::vector<std::string>& arguments) {
  const auto result = parse_options(arguments);
  const auto* refusal = std::get_if<Refusal>(&result);
  INFO((refusal != nullptr ? refusal->error : std::string()));
  REQUIRE(refusal == nullptr);
  return std::get<Options>(result);
}

std::string refused(const std::vector<std::string>& arguments) {
  const auto result = parse_options(arguments);
  REQUIRE(std::holds_alternative<Refusal>(result));
  const auto refusal = std::get<Refusal>(result);
  CHECK(refusal.exit_code == 2);
  CHECK(refusal.out.empty());
  return refusal.error;
}

Settings on_loopback() {
  Settings settings;
  REQUIRE(settings.set("RONDE_SOCKET_IFNAME", "=lo").ok());
  return settings;
}

uint16_t port_in(const std::string& line) { return static_cast<uint16_t>(std::stoi(line.substr(line.rfind(':') + 1))); }

// Listens on loopback while body runs with the port.
Visits while_listening(const std::function<void(uint16_t)>& body) {
  std::optional<std::thread> visitor;
  const auto visits = listen(on_loopback(), 0, ronde::Milliseconds(1500), [&](const std::string& line) {
    if (line.find("--connect") == std::string::npos || visitor) return;
    visitor.emplace([&body, port = port_in(line)] { body(port); });
  });
  if (visitor) visitor->join();  // first: the body asserts, too, and Catch takes one thread at a time
  REQUIRE(visitor.has_value());
  REQUIRE(visits.ok());
  return *visits;
}

ronde::Fd connected(uint16_t port) {
  auto address = ronde::SocketAddress::parse("127.0.0.1", port);
  auto fd = connect_to(*address, ronde::Deadline::after(ronde::Milliseconds(1000)));
  if (!fd.ok()) return {};
  return std::move(*fd);
}

}  // namespace

TEST_CASE("doctor: modes and their defaults") {
  CHECK(accepted({}).mode == Mode::check);
  CHECK(accepted({"-n", "8", "--json"}).nranks == 8);
  CHECK(accepted({"--settings"}).mode == Mode::settings);
  CHECK(accepted({"--listen"}).listen_port == 0);
  CHECK(accepted({"--listen", "4711"}).listen_port == 4711);
  CHECK(accepted({"--listen=4711", "--timeout", "7"}).timeout == ronde::Milliseconds(7000));
  CHECK(accepted({"--connect", "a"}).mode == Mode::connect);
}

TEST_CASE("doctor: targets") {
  const auto targets = parse_targets("10.0.0.1:4711,node-b,[fd00::1]:9,fd00::2,[fd00::3]");
  REQUIRE(targets.ok());
  CHECK(*targets ==
        std::vector<Target>{{"10.0.0.1", 4711}, {"node-b", 0}, {"fd00::1", 9}, {"fd00::2", 0}, {"fd00::3", 0}});
  for (const char* text : {"", ":5", "a,", "[fd00::1", "[fd00::1]4", "a:", "a:0", "a:65536", "a:b"}) {
    INFO(text);
    CHECK_FALSE(parse_targets(text).ok());
  }
}

TEST_CASE("doctor: a wrong command line is refused with its reason") {
  CHECK_THAT(refused({"-n", "0"}), Catch::Contains("'0'"));
  CHECK_THAT(refused({"--settings", "--listen"}), Catch::Contains("take one of"));
  CHECK_THAT(refused({"--listen", "70000"}), Catch::Contains("'70000'"));
  CHECK_THAT(refused({"--settings", "-n", "2"}), Catch::Contains("-n"));
  CHECK_THAT(refused({"--timeout", "3"}), Catch::Contains("--timeout"));
  CHECK_THAT(refused({"--no-such"}), Catch::Contains("--no-such"));
}

TEST_CASE("doctor: findings as text stand in columns, remedies below them") {
  const std::vector<Finding> findings = {{State::ok, "CPUs", "2 usable", ""},
                                         {State::problem, "open files", "limit \x1b[2J3", "ulimit -n 4"}};
  CHECK(findings_text("head", findings) ==
        "head\n\n"
        "ok       CPUs        2 usable\n"
        "problem  open files  limit ?[2J3\n"
        "                     -> ulimit -n 4\n"
        "\n1 problem, no warnings\n");
  CHECK(has_problem(findings));
}

TEST_CASE("doctor: strangers get nothing and keep nobody waiting") {
  Visits visits = while_listening([](uint16_t port) {
    std::vector<ronde::Fd> silent;
    for (int i = 0; i < 10; ++i) silent.push_back(connected(port));
    for (int i = 0; i < 3; ++i) {
      const ronde::Fd talker = connected(port);
      (void)::send(talker.get(), "GET / HTTP/1.1\r\n\r\n", 18, MSG_NOSIGNAL);
    }
    const auto findings = reach({{"127.0.0.1", port}}, Settings(), ronde::Milliseconds(1000));
    REQUIRE(findings.size() == 1);
    CHECK(findings[0].state == State::ok);
  });
  CHECK(visits.reached == 1);
  CHECK(visits.strangers >= 3);
}

TEST_CASE("doctor: an address that fails is a warning where another one works") {
  while_listening([](uint16_t port) {
    const auto findings = reach({{"127.0.0.2", port}, {"127.0.0.1", port}}, Settings(), ronde::Milliseconds(1000));
    REQUIRE(findings.size() == 2);
    CHECK(findings[0].state == State::warning);
    CHECK_THAT(findings[0].remedy, Catch::Contains("nobody listens there"));
    CHECK(findings[1].state == State::ok);
  });
}

TEST_CASE("doctor: a program that accepts and is silent is told from ronde-doctor") {
  const auto listener = ronde::listen_tcp(ronde::SocketAddress::parse("127.0.0.1", 0), 0);
  REQUIRE(listener.ok());
  const auto findings = reach({{"127.0.0.1", listener->port}}, Settings(), ronde::Milliseconds(300));
  REQUIRE(findings.size() == 1);
  CHECK(findings[0].state == State::problem);
  CHECK_THAT(findings[0].value, Catch::Contains("nothing comes back"));
}

TEST_CASE("doctor: the owner of a port is found") {
  const auto listener = ronde::listen_tcp(ronde::SocketAddress::parse("127.0.0.1", 0), 0);
  REQUIRE(listener.ok());
  CHECK_THAT(owner_of_port(listener->port), Catch::Contains(std::to_string(getpid())));
}

TEST_CASE("doctor: shared memory and wake-ups work where the tests run") {
  CHECK(check_wakeups().state == State::ok);
  CHECK(check_shared_memory(4, Settings()).state == State::ok);
  Settings little;
  REQUIRE(little.set("RONDE_SHM_LIMIT", "4096").ok());
  CHECK(check_shared_memory(4, little).state == State::warning);
  CHECK(available_memory() > 0);
}
