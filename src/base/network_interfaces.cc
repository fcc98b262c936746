// The part of socket.h that looks at the interfaces of this host and at the names of others.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <set>
#include <sstream>

#include "base/read_file.h"
#include "base/socket.h"

namespace ronde {
namespace {

// Better is smaller.
enum class Rank { default_route, real, virtual_bridge, loopback };

struct Candidate : InterfaceAddress {
  Rank rank = Rank::real;
};

std::set<std::string> default_route_interfaces() {
  std::set<std::string> names;
  std::string line;
  // Iface Destination Gateway Flags RefCnt Use Metric Mask ...
  std::istringstream ipv4(read_file("/proc/net/route"));
  while (std::getline(ipv4, line)) {
    std::istringstream fields(line);
    std::string name, destination, gateway, flags, references, use, metric, mask;
    fields >> name >> destination >> gateway >> flags >> references >> use >> metric >> mask;
    if (destination == "00000000" && mask == "00000000") names.insert(name);
  }
  // destination, its prefix length, source, its prefix length, next hop, metric, references, use, flags, name
  std::istringstream ipv6(read_file("/proc/net/ipv6_route"));
  while (std::getline(ipv6, line)) {
    std::istringstream fields(line);
    std::string destination, prefix, skipped, name;
    fields >> destination >> prefix;
    for (int i = 0; i < 7; ++i) fields >> skipped;
    fields >> name;
    // "lo" stands there for the refusal of what no route fits.
    if (prefix == "00" && destination == std::string(32, '0') && name != "lo") names.insert(name);
  }
  return names;
}

bool is_virtual_bridge(std::string_view name) {
  static constexpr std::string_view kPrefixes[] = {"docker", "virbr",   "br-",  "veth", "cni",  "lxc", "lxd",
                                                   "podman", "flannel", "cali", "kube", "vnet", "ifb"};
  return std::any_of(std::begin(kPrefixes), std::end(kPrefixes),
                     [&](std::string_view prefix) { return name.starts_with(prefix); });
}

Result<std::vector<Candidate>> interface_addresses() {
  ifaddrs* raw = nullptr;
  // The one descriptor that is not made by Fd::make is the C library's here: close-on-exec, closed before it returns,
  // and no peer's business.
  if (getifaddrs(&raw) != 0) return system_error("cannot list the network interfaces", errno);
  const std::unique_ptr<ifaddrs, decltype(&freeifaddrs)> list(raw, &freeifaddrs);

  const std::set<std::string> with_default_route = default_route_interfaces();
  std::vector<Candidate> result;
  for (const ifaddrs* entry = list.get(); entry != nullptr; entry = entry->ifa_next) {
    if ((entry->ifa_flags & IFF_UP) == 0 || (entry->ifa_flags & IFF_RUNNING) == 0) continue;
    const auto address = SocketAddress::from_system(entry->ifa_addr);
    if (!address || address->is_link_local()) continue;
    Candidate found{{entry->ifa_name, *address}, Rank::real};
    if ((entry->ifa_flags & IFF_LOOPBACK) != 0 || address->is_loopback()) {
      found.rank = Rank::loopback;
    } else if (with_default_route.contains(found.interface)) {
      found.rank = Rank::default_route;
    } else if (is_virtual_bridge(found.interface)) {
      found.rank = Rank::virtual_bridge;
    }
    result.push_back(std::move(found));
  }
  return result;
}

// RONDE_SOCKET_IFNAME: an optional '^' (all but these), an optional '=' (whole names, not prefixes), then names. Both
// hold for all names.
class Selection {
 public:
  explicit Selection(std::string_view text) {
    given_ = !text.empty();
    excludes_ = text.starts_with('^');
    if (excludes_) text.remove_prefix(1);
    exact_ = text.starts_with('=');
    if (exact_) text.remove_prefix(1);
    std::istringstream names{std::string(text)};
    for (std::string name; std::getline(names, name, ',');)
      if (!name.empty()) names_.push_back(name);
  }
  // Loopback counts only if there is nothing else, unless it was named.
  [[nodiscard]] bool names_interfaces() const { return given_ && !excludes_; }
  // A mark before a further name would be a part of that name, and have no effect.
  [[nodiscard]] Status check_marks(std::string_view text) const {
    const auto is_marked = [](const std::string& name) { return name[0] == '^' || name[0] == '='; };
    if (std::none_of(names_.begin(), names_.end(), is_marked)) return {};
    // The same marks as of the first may be left out; with others it cannot be told what was meant.
    const std::string marks = std::string(excludes_ ? "^" : "") + (exact_ ? "=" : "");
    std::vector<std::string> plain;
    bool same = true;
    for (const std::string& name : names_) {
      const size_t begin = std::min(name.find_first_not_of("^="), name.size());
      same = same && (begin == 0 || name.substr(0, begin) == marks);
      if (begin < name.size()) plain.push_back(name.substr(begin));
    }
    const std::string instead = same ? fmt::format(": write '{}{}'", marks, fmt::join(plain, ",")) : "";
    return {
        rondeInvalidUsage,
        fmt::format("RONDE_SOCKET_IFNAME='{}' is not allowed; ^ and = hold for all names and stand before the first{}",
                    text, instead)};
  }
  [[nodiscard]] bool takes(std::string_view interface) const {
    if (!given_) return true;
    const bool listed = std::any_of(names_.begin(), names_.end(), [&](const std::string& name) {
      return exact_ ? interface == name : interface.starts_with(name);
    });
    return listed != excludes_;
  }

 private:
  bool given_ = false;
  bool excludes_ = false;
  bool exact_ = false;
  std::vector<std::string> names_;
};

const char* family_text(int family) {
  if (family == AF_INET) return "IPv4 ";
  return family == AF_INET6 ? "IPv6 " : "";
}

Status nothing_left(const std::vector<Candidate>& all, std::string_view selection, int family) {
  std::vector<std::string> there;
  for (const Candidate& one : all) {
    std::string address = one.address.text();
    address.resize(address.rfind(':'));
    there.push_back(fmt::format("{} ({})", one.interface, address));
  }
  const std::string what_there_is = there.empty() ? "none" : fmt::format("{}", fmt::join(there, ", "));
  if (!selection.empty())
    return {rondeInvalidUsage,
            fmt::format("RONDE_SOCKET_IFNAME='{}' leaves no interface that is up and has an {}address; "
                        "there are: {}",
                        selection, family_text(family), what_there_is)};
  if (family != 0)
    return {rondeInvalidUsage,
            fmt::format("RONDE_SOCKET_FAMILY allows {}addresses only, and no interface that is up has "
                        "one; there are: {}",
                        family_text(family), what_there_is)};
  return {rondeSystemError, "no network interface is up and has an address, not even loopback (ip link set lo up)"};
}

}  // namespace

Result<std::vector<InterfaceAddress>> local_interfaces(std::string_view selection, int family) {
  RONDE_ASSIGN(const std::vector<Candidate> all, interface_addresses());
  const Selection chosen(selection);
  RONDE_TRY(chosen.check_marks(selection));
  std::vector<Candidate> usable;
  for (const Candidate& one : all)
    if (chosen.takes(one.interface) && (family == 0 || one.address.family() == family)) usable.push_back(one);
  if (usable.empty()) return nothing_left(all, selection, family);

  std::stable_sort(usable.begin(), usable.end(), [](const Candidate& a, const Candidate& b) {
    return std::pair(a.rank, a.address.family() == AF_INET6) < std::pair(b.rank, b.address.family() == AF_INET6);
  });
  const bool keep_loopback = chosen.names_interfaces() || usable.front().rank == Rank::loopback;
  std::vector<InterfaceAddress> result;
  for (const Candidate& one : usable)
    if (one.rank != Rank::loopback || keep_loopback) result.push_back({one.interface, one.address.with_port(0)});
  return result;
}

Result<std::vector<SocketAddress>> local_addresses(std::string_view selection, int family) {
  RONDE_ASSIGN(const std::vector<InterfaceAddress> interfaces, local_interfaces(selection, family));
  std::vector<SocketAddress> result;
  result.reserve(interfaces.size());
  for (const InterfaceAddress& one : interfaces) result.push_back(one.address);
  return result;
}

bool is_local_address(const SocketAddress& address) {
  if (address.is_loopback()) return true;
  const Result<std::vector<Candidate>> all = interface_addresses();
  return all.ok() && std::any_of(all->begin(), all->end(), [&](const Candidate& one) {
           return one.address.with_port(0) == address.with_port(0);
         });
}

Result<std::vector<SocketAddress>> resolve_host(const std::string& host, int family) {
  addrinfo hints{};
  hints.ai_family = family;
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* raw = nullptr;
  int error = 0;
  do error = getaddrinfo(host.c_str(), nullptr, &hints, &raw);
  while (error == EAI_SYSTEM && errno == EINTR);
  const char* const reason = error == 0 ? "no usable address" : gai_strerror(error);
  std::vector<SocketAddress> addresses;
  if (error == 0) {
    const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> list(raw, &freeaddrinfo);
    for (const addrinfo* entry = list.get(); entry != nullptr; entry = entry->ai_next) {
      const auto address = SocketAddress::from_system(entry->ai_addr);
      if (!address || address->is_link_local()) continue;
      if (std::find(addresses.begin(), addresses.end(), *address) == addresses.end()) addresses.push_back(*address);
    }
  }
  if (addresses.empty()) return Status(rondeInvalidUsage, fmt::format("'{}' leads nowhere: {}", host, reason));
  return addresses;
}

}  // namespace ronde
