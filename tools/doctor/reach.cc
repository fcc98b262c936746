#include "doctor/reach.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <chrono>

#include "base/retry.h"

namespace ronde::doctor {
namespace {

constexpr int kLongestPoll = 60'000;

// False: not ready before the deadline.
bool wait_for(int fd, short events, Deadline deadline) {
  for (;;) {
    pollfd entry{fd, events, 0};
    const int ready = ::poll(&entry, 1, deadline.poll_timeout(Clock::now(), kLongestPoll));
    if (ready > 0) return true;
    if (deadline.passed()) return false;
  }
}

// 0, or the errno with which connecting ended; ETIMEDOUT at the deadline.
int try_connect(const SocketAddress& address, Deadline deadline, Fd& connection) {
  auto started = start_connect(address);
  if (!started.ok()) return errno != 0 ? errno : EIO;
  connection = std::move(*started);
  if (!wait_for(connection.get(), POLLOUT, deadline)) return ETIMEDOUT;
  return connect_error(connection.get());
}

Status exchange_greeting(int fd, Deadline deadline) {
  Status other_program(rondeSystemError, "something answers there, but it is not ronde-doctor --listen");
  Status closed(rondeSystemError, "connected, but the other side closed the connection");
  const ssize_t sent = retry_interrupted([&] { return ::send(fd, kGreeting.data(), kGreeting.size(), MSG_NOSIGNAL); });
  if (sent != static_cast<ssize_t>(kGreeting.size())) return closed;
  std::array<char, kGreeting.size()> answer{};
  size_t size = 0;
  while (size < answer.size()) {
    if (!wait_for(fd, POLLIN, deadline)) return {rondeTimedOut, "connected, but nothing comes back"};
    const ssize_t got = retry_interrupted([&] { return ::recv(fd, answer.data() + size, answer.size() - size, 0); });
    if (got < 0 && errno == EAGAIN) continue;
    if (got <= 0) return size == 0 ? closed : other_program;
    size += static_cast<size_t>(got);
  }
  return std::string_view(answer.data(), size) == kGreeting ? Status() : other_program;
}

std::string local_text(int fd) {
  sockaddr_storage storage{};
  socklen_t size = sizeof storage;
  if (getsockname(fd, reinterpret_cast<sockaddr*>(&storage), &size) != 0) return "an unknown address";
  const auto own = SocketAddress::from_system(reinterpret_cast<sockaddr*>(&storage));
  if (!own) return "an unknown address";
  if (own->is_loopback()) return address_text(*own) + " (loopback)";
  const auto interfaces = local_interfaces("", 0);
  for (size_t i = 0; interfaces.ok() && i < interfaces->size(); ++i) {
    const InterfaceAddress& one = (*interfaces)[i];
    if (one.address == own->with_port(0)) return fmt::format("{} ({})", address_text(*own), one.interface);
  }
  return address_text(*own);
}

bool host_has_family(int family) {
  const auto own = local_interfaces("", 0);
  return own.ok() && std::any_of(own->begin(), own->end(),
                                 [family](const InterfaceAddress& one) { return one.address.family() == family; });
}

std::string remedy_for(int error, const SocketAddress& address) {
  const bool ipv6 = address.family() == AF_INET6;
  if (error == ECONNREFUSED) {
    return fmt::format(
        "nobody listens there: is ronde-doctor --listen running on that machine, and the port right? A "
        "firewall that rejects TCP port {} looks the same",
        address.port());
  }
  if (error == ETIMEDOUT) {
    return fmt::format(
        "a firewall between the machines drops the packets (it must let TCP ports through: {} here, any for "
        "jobs), or nobody has that address",
        address.port());
  }
  if (!address.is_loopback() && !host_has_family(address.family())) {
    return fmt::format(
        "this machine has {0} addresses only: give it an {1} address, or name an {0} address of the other",
        ipv6 ? "IPv4" : "IPv6", ipv6 ? "IPv6" : "IPv4");
  }
  if (error == ENETUNREACH || error == EHOSTUNREACH) {
    return fmt::format(
        "no way leads there: see 'ip {}route get {}', and name an address of a network that both machines "
        "are in (RONDE_SOCKET_IFNAME chooses it for jobs)",
        ipv6 ? "-6 " : "", address_text(address));
  }
  return "";
}

double milliseconds_since(Time start) {
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

Finding reach_one(const SocketAddress& address, Milliseconds limit) {
  const std::string what = address.text();
  const Deadline deadline = Deadline::after(limit);
  const Time start = Clock::now();
  Fd connection;
  if (const int error = try_connect(address, deadline, connection); error != 0) {
    const std::string reason = error == ETIMEDOUT ? fmt::format("no answer within {} s",
                                                                std::chrono::ceil<std::chrono::seconds>(limit).count())
                                                  : system_error("cannot connect", error).message();
    return {State::problem, what, reason, remedy_for(error, address)};
  }
  const double connected = milliseconds_since(start);
  configure_tcp(connection.get());
  double least = -1;
  for (int i = 0; i < kGreetings; ++i) {
    const Time sent = Clock::now();
    if (const Status status = exchange_greeting(connection.get(), deadline); !status.ok()) {
      return problem_of(what, status, "see that ronde-doctor --listen runs there, with this port");
    }
    const double took = milliseconds_since(sent);
    least = least < 0 ? took : std::min(least, took);
  }
  return {State::ok, what,
          fmt::format("reached from {} in {:.2f} ms; round trip {:.2f} ms", local_text(connection.get()), connected,
                      least)};
}

// "::1:4711" is an address without a port, though its last group may be meant as one.
std::string port_hint(const std::string& host) {
  const size_t colon = host.rfind(':');
  if (colon == std::string::npos) return "";
  const std::string rest = host.substr(0, colon);
  const std::string last = host.substr(colon + 1);
  const bool number = !last.empty() && last.find_first_not_of("0123456789") == std::string::npos;
  if (!number || !SocketAddress::parse(rest, 0)) return "";
  return fmt::format("; if {} is the port, write [{}]:{}", last, rest, last);
}

Finding which_port(const std::string& host) {
  const std::string form = host.find(':') == std::string::npos ? host : "[" + host + "]";
  return {State::problem, host, "which port? None is given, and RONDE_PORT is not set",
          fmt::format("write {}:PORT, with the port that ronde-doctor --listen shows there{}", form, port_hint(host))};
}

std::vector<Finding> reach_target(const Target& target, const Settings& settings, Milliseconds limit) {
  const auto port = target.port != 0 ? target.port : static_cast<uint16_t>(settings.port);
  if (port == 0) return {which_port(target.host)};
  const auto addresses = resolve_host(target.host, family_by_name(settings.socket_family));
  if (!addresses.ok()) {
    const std::string why =
        settings.socket_family == "any" ? "" : " (RONDE_SOCKET_FAMILY=" + settings.socket_family + ")";
    return {{State::problem, target.host, addresses.status().message() + why,
             "write the address as ronde-doctor --listen shows it ([IPV6-ADDRESS]:PORT or ADDRESS:PORT), or mend "
             "/etc/hosts or the name server"}};
  }
  std::vector<Finding> findings;
  for (const SocketAddress& address : *addresses) {
    findings.push_back(reach_one(address.with_port(port), limit));
    Finding& last = findings.back();
    if (last.state == State::problem && target.port == 0) last.remedy += port_hint(target.host);
  }
  return findings;
}

}  // namespace

std::string address_text(const SocketAddress& address) {
  std::string text = address.text();
  text.resize(text.rfind(':'));
  if (text.starts_with('[')) text = text.substr(1, text.size() - 2);
  return text;
}

Result<Fd> connect_to(const SocketAddress& address, Deadline deadline) {
  Fd connection;
  const int error = try_connect(address, deadline, connection);
  if (error == ETIMEDOUT) return Status(rondeTimedOut, "no answer to a connection");
  if (error != 0) return system_error("cannot connect", error);
  return connection;
}

std::vector<Finding> reach(const std::vector<Target>& targets, const Settings& settings, Milliseconds limit) {
  std::vector<Finding> findings;
  for (const Target& target : targets) {
    for (Finding& finding : reach_target(target, settings, limit)) findings.push_back(std::move(finding));
  }
  const bool any =
      std::any_of(findings.begin(), findings.end(), [](const Finding& one) { return one.state == State::ok; });
  for (Finding& finding : findings) {
    if (any && finding.state == State::problem) finding.state = State::warning;
  }
  return findings;
}

}  // namespace ronde::doctor
